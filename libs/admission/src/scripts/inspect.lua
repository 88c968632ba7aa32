-- Tells what a book holds now, after settling expired requests.
--   ARGV[1] the checks, as JSON, whose levels are wanted
--   ARGV[2] lease ms   ARGV[3] ms that a lease of any ingress lasts at most
-- Answer, JSON: { requests, reserved: tokens held for them, levels: per check }

local book = books[1]
shortenLeases(book, tonumber(ARGV[3]), tonumber(ARGV[2]))
sweep(book)
local reservedTokens = 0
for _, text in ipairs(redis.call('HVALS', book.recordsKey)) do
  local holds, amounts = heldOf(book, text)
  for index, hold in ipairs(holds) do
    if hold.settles or hold.primitive == 'budget' then
      reservedTokens = reservedTokens + (amounts[index] or hold.amount)
    end
  end
end
local level = {
  lease = function(check) return leaseCount(check.key) end,
  rate = function(check) return rateNow(check.key, check.max, check.periodMs).level end,
  budget = function(check)
    local budget = budgetNow(check.key, check.periodMs)
    return budget.spent + budget.reserved
  end,
}
local levels = {}
for index, check in ipairs(cjson.decode(ARGV[1])) do levels[index] = level[check.primitive](check) end
return cjson.encode({ requests = redis.call('ZCARD', book.openKey), reserved = reservedTokens, levels = levels })

-- Tells what a book holds now, after settling expired requests.
--   ARGV[1] the checks, as JSON, whose levels are wanted
--   ARGV[2] lease ms   ARGV[3] ms that a lease of any ingress lasts at most
-- Answer, JSON: { requests, reserved: tokens held for them, levels: per check }

local book = books[1]
shortenLeases(book, tonumber(ARGV[3]), tonumber(ARGV[2]))
sweep(book)
local records = redis.call('HVALS', book.recordsKey)
book.isEmpty = #records == 0
local reservedTokens, requests = 0, redis.call('ZCARD', book.openKey)
for _, text in ipairs(records) do
  if text == givenUp then requests = requests - 1 end
  local holds, amounts = heldOf(book, text)
  for index, hold in ipairs(holds) do
    if hold.settles or hold.primitive == 'budget' then
      reservedTokens = reservedTokens + (amounts[index] or hold.amount)
    end
  end
end
local levels = {}
for index, check in ipairs(cjson.decode(ARGV[1])) do
  levels[index] = levelOf[check.primitive](check, book)
end
return cjson.encode({ requests = requests, reserved = reservedTokens, levels = levels })

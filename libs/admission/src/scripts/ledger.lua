-- The books on which a run works, each of a tenant or a pool. Included before every other script. The keys of book n:
--   KEYS[3n-2]  open: zset of request ids, each with the time (ms, by Redis) at which its lease expires
--   KEYS[3n-1]  records: hash, request id -> 'input seen amounts holds': tokens estimated, tokens seen, in JSON
--               the amounts taken, and of what, so that each is settled or given back under the same key and amount: a
--               list of [primitive, key in the book, periodMs, max, settles], which may end in blanks. A record that a
--               renewal has made anew has no amounts, and its holds are objects that name theirs and the whole key.
--   KEYS[3n]    mean: mean service time in ms, of a pool
-- The checks name further keys. All of them have the book's hash tag, so that a Cluster runs a book on one node.
-- Records are kept as text and parsed late: encoding them as one JSON value took a third of the script's time.
--
-- One run serves many requests, most of which share their keys. So a run reads each key once, counts in Lua, and writes
-- each key once, in `writeBooks`. At 64 requests per run, that takes a third of the time per request.

-- Each book holds the records that were read and those to be written. A record that does not exist, or was deleted in
-- this run, is false.
local books = {}
for index = 1, #KEYS, 3 do
  books[#books + 1] = {
    openKey = KEYS[index],
    recordsKey = KEYS[index + 1],
    meanKey = KEYS[index + 2],
    holds = {},
    wanted = {},
    records = {},
    toWrite = {},
    toDelete = {},
  }
end

-- Returns a function from numbers, such as '2 1', to the `things` that they stand for. It remembers its answers,
-- because most requests of a run name the same ones.
local function namedOf(things)
  local lists = {}
  return function(numbers)
    local list = lists[numbers]
    if not list then
      -- A single number needs no pattern, which saves a microsecond of a run for one request.
      list = { things[tonumber(numbers)] }
      if #list == 0 then
        for each in string.gmatch(numbers, '%d+') do list[#list + 1] = things[tonumber(each)] end
      end
      lists[numbers] = list
    end
    return list
  end
end

-- Another key of a book.
local function bookKey(book, name)
  return string.sub(book.openKey, 1, -5) .. name
end

-- Key of the mean service time of one tenant in a pool, derived from the key under which its places are counted. It is
-- measured only while tenants share the pool, and is kept as long after its last use as their share is.
local shareLifeMs = 10 * 60 * 1000
local function tenantMeanKey(placesKey)
  return placesKey .. ':mean'
end

local function keepBook(book)
  redis.call('PEXPIRE', book.openKey, bookLifeMs)
  redis.call('PEXPIRE', book.recordsKey, bookLifeMs)
end

local function wantRecord(book, id)
  local list = book.wanted
  list[#list + 1] = id
end

-- Reads the wanted records of each book at once.
local function readRecords()
  for _, book in ipairs(books) do
    local ids = book.wanted
    if #ids > 0 then
      local records, texts = book.records, redis.call('HMGET', book.recordsKey, unpack(ids))
      for index = 1, #ids do records[ids[index]] = texts[index] end
      book.wanted = {}
    end
  end
end

local function writeRecord(book, id, text)
  local list = book.toWrite
  local size = #list
  book.records[id] = text
  list[size + 1], list[size + 2] = id, text
end

local function deleteRecord(book, id)
  local list = book.toDelete
  book.records[id] = false
  list[#list + 1] = id
end

local function parseRecord(text)
  local input, seen, held = string.match(text, '^(%S+) (%S+) (.*)$')
  return tonumber(input), tonumber(seen), held
end

local amountsByText = {}
local function parseAmounts(text)
  local amounts = amountsByText[text] or cjson.decode(text)
  amountsByText[text] = amounts
  return amounts
end

-- Requests of one key and policy carry the same text.
local function parseHolds(book, text)
  local holds = book.holds[text]
  if holds then return holds end
  holds = cjson.decode(text)
  for index, hold in ipairs(holds) do
    local primitive, key, periodMs, max, settles = unpack(hold)
    if primitive then
      key = bookKey(book, key)
      holds[index] = { primitive = primitive, key = key, periodMs = periodMs, max = max, settles = settles }
    end
  end
  book.holds[text] = holds
  return holds
end

-- The holds and amounts of a record. It creates no unneeded strings, because Lua hashes each of them.
local function heldOf(book, text)
  local amounts, holds = string.match(text, '^%S+ %S+ (%S+) (.+)$')
  -- Records of earlier versions have no amounts.
  if not holds then amounts, holds = '[]', string.match(text, '%[.*$') end
  return parseHolds(book, holds), parseAmounts(amounts)
end

-- Writes all changes and forgets what was read. Deletions come first, because a request that died may have come again.
local function writeBooks()
  for _, book in ipairs(books) do
    if #book.toDelete > 0 then redis.call('HDEL', book.recordsKey, unpack(book.toDelete)) end
    if #book.toWrite > 0 then redis.call('HSET', book.recordsKey, unpack(book.toWrite)) end
    book.records, book.toWrite, book.toDelete = {}, {}, {}
  end
  writeCounts()
end

local settleHold = {
  lease = function(hold, amount, id)
    dropLease(hold.key, id, amount)
  end,
  rate = function(hold, amount, _, charge)
    local correction
    if charge == nil then
      correction = -amount
    elseif hold.settles then
      correction = charge - amount
    else
      return
    end
    local rate = rateOf(hold.key, hold.max, hold.periodMs)
    setRateLevel(rate, rate.level + correction)
  end,
  budget = function(hold, amount, _, charge)
    local budget = budgetOf(hold.key, hold.periodMs)
    -- The budget was deleted with its tenant, and writing it would bring it back for good.
    if not budget.isKnown then return end
    setBudget(budget, budget.spent + (charge or 0), budget.reserved - amount)
  end,
}

-- Settles a request's part in this book, once: without a record there is nothing left to do. The record must have been
-- read. Returns the holds that it had, or false.
--   charge: tokens to book; nil gives everything back as if it had never been taken
local function settle(book, id, charge)
  local text = book.records[id]
  removeMember(book.openKey, id)
  if not text then return false end
  deleteRecord(book, id)
  local holds, amounts = heldOf(book, text)
  for index = 1, #holds do
    local hold = holds[index]
    settleHold[hold.primitive](hold, amounts[index] or hold.amount, id, charge)
  end
  return holds
end

-- The record of a request of which something may come late: the reservation of one that was given up before it came,
-- or a renewal of one that was settled since. What a connection has sent arrives even if it was closed meanwhile, and
-- after what the next one sends. It finds this record and takes nothing. A blank at the end tells it from what a
-- renewal records of a request that holds nothing.
local givenUp = '0 0 [] [] '
-- As long as a lease. What TCP has lost comes again within it: after 0.2, 0.6, 1.4, 3, 6.2 and 12.6 s.
local givenUpLifeMs = 15 * 1000
local function giveUp(book, id)
  writeRecord(book, id, givenUp)
  addMember(book.openKey, string.format('%.0f', at + givenUpLifeMs), id)
  book.hasGivenUp = true
end

-- Whether a book may have such records. Renewals look for them only then: reading 200 records took half as long again
-- as renewing them.
local function mayHaveGivenUp(book)
  return redis.call('EXISTS', bookKey(book, 'given-up')) == 1
end

local function keepGivenUp(book)
  if not book.hasGivenUp then return end
  redis.call('SET', bookKey(book, 'given-up'), 1, 'PX', givenUpLifeMs)
  -- Without an expiry, its keys have just been made, and nobody has promised to look after them.
  if redis.call('PTTL', book.recordsKey) ~= -1 then return end
  redis.call('PEXPIRE', book.openKey, givenUpLifeMs)
  redis.call('PEXPIRE', book.recordsKey, givenUpLifeMs)
end

-- Shortens leases that end later than any that can be taken now. They were taken before the clock was set back, and
-- would last until it has caught up. A request that is still looked after renews its lease in time.
local function shortenLeases(book, longestLeaseMs, leaseMs)
  local latest = string.format('(%.0f', at + longestLeaseMs)
  local diesAt = string.format('%.0f', at + leaseMs)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', book.openKey, latest, '+inf', 'LIMIT', 0, 1000)) do
    addMember(book.openKey, diesAt, id)
  end
  writeCounts()
end

-- Settles expired requests, whose ingress is gone. They are charged the input estimate plus the output that was seen.
-- Returns how many it settled, at most 100, so that other scripts need not wait long.
local function sweep(book)
  local dead = redis.call('ZRANGEBYSCORE', book.openKey, '-inf', now, 'LIMIT', 0, 100)
  if #dead == 0 then return 0 end
  for _, id in ipairs(dead) do wantRecord(book, id) end
  readRecords()
  for _, id in ipairs(dead) do
    local input, seen = parseRecord(book.records[id] or '0 0 [] []')
    settle(book, id, input + seen)
  end
  writeBooks()
  return #dead
end

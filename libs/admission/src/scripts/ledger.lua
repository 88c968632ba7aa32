-- The books of the slots in which a run works, included before every other script. Of book n:
--   KEYS[3n-2]  open: zset, request id by the instant (ms, Redis time) at which its lease dies
--   KEYS[3n-1]  records: hash, request id -> 'input seen amounts holds': tokens estimated, tokens seen, in JSON
--               the amounts taken, and of what, so that each is settled or given back under the same key and amount: a
--               list of [primitive, key after the slot, periodMs, max, settles]. A record that a renewal has made anew
--               has no amounts, and its holds are objects that name theirs and the whole key.
--   KEYS[3n]    mean: mean service time in ms, of a pool
-- The checks name further keys; all of them carry the slot's hash tag, so a Cluster runs one book on one node.
-- Records are kept as text and parsed late: encoding them as one JSON value cost a third of the script.
--
-- One run serves many requests, most of which share their keys. So a run reads each key once, counts in Lua, and
-- writes each key once, in `writeBooks`: a third of the time per request at 64 requests a run.

local bookLifeMs = 7 * 24 * 3600 * 1000

local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function number(text)
  return string.format('%.17g', text)
end

-- In each book the records that were read, and those to be written; one that is absent, or gone in this run, is
-- false.
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

-- Tells those of `things` that a request names by their numbers, as '2 1'; most requests of a run name the same ones.
local function namedOf(things)
  local lists = {}
  return function(numbers)
    local list = lists[numbers]
    if not list then
      -- One number needs no pattern: a microsecond of a run for a single request.
      list = { things[tonumber(numbers)] }
      if #list == 0 then
        for each in string.gmatch(numbers, '%d+') do list[#list + 1] = things[tonumber(each)] end
      end
      lists[numbers] = list
    end
    return list
  end
end

local function keepBook(book)
  redis.call('PEXPIRE', book.openKey, bookLifeMs)
  redis.call('PEXPIRE', book.recordsKey, bookLifeMs)
end

-- Of all other keys: what was read, and what is to be written.
local counts, rates, budgets = {}, {}, {}
local toAdd, toRemove, toKeep = {}, {}, {}

local function listOf(lists, key)
  local list = lists[key]
  if not list then
    list = {}
    lists[key] = list
  end
  return list
end

local function addMember(key, score, name)
  local list = listOf(toAdd, key)
  local size = #list
  list[size + 1], list[size + 2] = score, name
end

local function removeMember(key, name)
  local list = listOf(toRemove, key)
  list[#list + 1] = name
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
      key = string.sub(book.openKey, 1, -5) .. key
      holds[index] = { primitive = primitive, key = key, periodMs = periodMs, max = max, settles = settles }
    end
  end
  book.holds[text] = holds
  return holds
end

-- What a record holds, and how much of each. It makes no text that is not needed, since Lua hashes the whole of each.
local function heldOf(book, text)
  local amounts, holds = string.match(text, '^%S+ %S+ (%S+) (.+)$')
  -- Records once had no place for amounts.
  if not holds then amounts, holds = '[]', string.match(text, '%[.*$') end
  return parseHolds(book, holds), parseAmounts(amounts)
end

-- A lease set's expired members don't count, whether or not somebody removed them.
local function leaseCount(key, at)
  local count = counts[key] or redis.call('ZCOUNT', key, '(' .. at, '+inf')
  counts[key] = count
  return count
end

-- The names of a lease's members begin with the request's id. Kept, since Lua is slow to write numbers.
local suffixes = {}
local function suffix(index)
  local text = suffixes[index] or '#' .. index
  suffixes[index] = text
  return text
end

local function takeLease(key, id, amount, diesAt)
  local count = counts[key]
  for index = 1, amount do addMember(key, diesAt, id .. suffix(index)) end
  -- Renewals keep the key from here on.
  if count == 0 then toKeep[#toKeep + 1] = key end
  counts[key] = count + amount
end

local function dropLease(key, id, amount)
  for index = 1, amount do removeMember(key, id .. suffix(index)) end
end

-- A rate is a bucket that fills by what is taken and runs empty in one period.
local function rateLevel(key, at, max, periodMs)
  local rate = rates[key]
  if rate then return rate.level end
  local bucket = redis.call('HMGET', key, 'level', 'at')
  local level = 0
  if bucket[1] then
    level = math.max(0, tonumber(bucket[1]) - math.max(0, at - tonumber(bucket[2])) * max / periodMs)
  end
  rates[key] = { level = level }
  return level
end

-- The level must have been read.
local function setRateLevel(key, at, max, periodMs, level)
  local rate = rates[key]
  rate.level, rate.at, rate.max, rate.periodMs = level > 0 and level or 0, at, max, periodMs
end

-- A budget counts what is spent and what is reserved; with a period, what is spent is forgotten at its end.
local function budgetState(key, at, periodMs)
  local budget = budgets[key]
  if not budget then
    local state = redis.call('HMGET', key, 'spent', 'reserved', 'window')
    budget = { spent = tonumber(state[1] or '0'), reserved = tonumber(state[2] or '0') }
    if periodMs and tonumber(state[3] or '-1') ~= math.floor(at / periodMs) then budget.spent = 0 end
    budgets[key] = budget
  end
  return budget.spent, budget.reserved
end

-- The state must have been read.
local function setBudget(key, at, periodMs, spent, reserved)
  local budget = budgets[key]
  budget.spent, budget.reserved = spent, math.max(0, reserved)
  budget.isChanged, budget.periodMs, budget.window = true, periodMs, periodMs and math.floor(at / periodMs)
end

local function writeRate(key, rate)
  if not rate.at then return end
  if rate.level <= 0 then
    redis.call('DEL', key)
    return
  end
  redis.call('HSET', key, 'level', number(rate.level), 'at', number(rate.at))
  redis.call('PEXPIRE', key, math.ceil(rate.level * rate.periodMs / rate.max) + 1000)
end

local function writeBudget(key, budget)
  if not budget.isChanged then return end
  redis.call('HSET', key, 'spent', number(budget.spent), 'reserved', number(budget.reserved))
  if budget.periodMs then
    redis.call('HSET', key, 'window', number(budget.window))
    redis.call('PEXPIRE', key, 2 * budget.periodMs + bookLifeMs)
  else
    redis.call('PERSIST', key)
  end
end

-- Writes all that changed, and forgets what was read. What died goes first: the same request may have come again.
local function writeBooks()
  for key, members in pairs(toRemove) do redis.call('ZREM', key, unpack(members)) end
  for key, members in pairs(toAdd) do redis.call('ZADD', key, unpack(members)) end
  for _, book in ipairs(books) do
    if #book.toDelete > 0 then redis.call('HDEL', book.recordsKey, unpack(book.toDelete)) end
    if #book.toWrite > 0 then redis.call('HSET', book.recordsKey, unpack(book.toWrite)) end
    book.records, book.toWrite, book.toDelete = {}, {}, {}
  end
  for _, key in ipairs(toKeep) do redis.call('PEXPIRE', key, bookLifeMs) end
  for key, rate in pairs(rates) do writeRate(key, rate) end
  for key, budget in pairs(budgets) do writeBudget(key, budget) end
  counts, rates, budgets = {}, {}, {}
  toAdd, toRemove, toKeep = {}, {}, {}
end

local settleHold = {
  lease = function(hold, amount, id)
    dropLease(hold.key, id, amount)
  end,
  rate = function(hold, amount, _, charge, at)
    local correction
    if charge == nil then
      correction = -amount
    elseif hold.settles then
      correction = charge - amount
    else
      return
    end
    local level = rateLevel(hold.key, at, hold.max, hold.periodMs)
    setRateLevel(hold.key, at, hold.max, hold.periodMs, level + correction)
  end,
  budget = function(hold, amount, _, charge, at)
    local spent, reserved = budgetState(hold.key, at, hold.periodMs)
    setBudget(hold.key, at, hold.periodMs, spent + (charge or 0), reserved - amount)
  end,
}

-- Ends a request's part in this book, once: without a record there is nothing left to do. The record must be read.
-- charge: tokens to book; nil gives everything back as if it had never been asked for.
local function settle(book, id, charge, at)
  local text = book.records[id]
  removeMember(book.openKey, id)
  if not text then return false end
  deleteRecord(book, id)
  local holds, amounts = heldOf(book, text)
  for index = 1, #holds do
    local hold = holds[index]
    settleHold[hold.primitive](hold, amounts[index] or hold.amount, id, charge, at)
  end
  return true
end

-- Requests whose ingress is gone: whoever comes by books the input estimate and the output that was seen.
local function sweep(book, at)
  local dead = redis.call('ZRANGEBYSCORE', book.openKey, '-inf', at, 'LIMIT', 0, 100)
  if #dead == 0 then return end
  for _, id in ipairs(dead) do wantRecord(book, id) end
  readRecords()
  for _, id in ipairs(dead) do
    local input, seen = parseRecord(book.records[id] or '0 0 [] []')
    settle(book, id, input + seen, at)
  end
  writeBooks()
end

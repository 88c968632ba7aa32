-- The counts in the keys that checks name: leases (members of zsets), rates and budgets. Included before the ledger.
-- A run reads each key once, counts in Lua, and writes each key once, in `writeCounts`.

local bookLifeMs = 7 * 24 * 3600 * 1000

local function number(text)
  return string.format('%.17g', text)
end

-- The time of the whole run, in ms by the clock of Redis, as a number and as text, because Lua formats numbers slowly.
local time = redis.call('TIME')
local at = time[1] * 1000 + math.floor(time[2] / 1000)
local now = string.format('%.0f', at)

-- What was read of these keys, and what is to be written to them.
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

-- Lua passes about 8,000 values to a function at most, and a request for many answers has a lease for each of them.
-- Returns the sum of what the parts return.
local mostAtOnce = 4000
local function callInParts(command, key, values)
  local sum = 0
  for from = 1, #values, mostAtOnce do
    sum = sum + redis.call(command, key, unpack(values, from, math.min(#values, from + mostAtOnce - 1)))
  end
  return sum
end

local function removeMember(key, name)
  local list = listOf(toRemove, key)
  list[#list + 1] = name
end

-- Expired members of a lease set do not count, whether or not they have been removed.
local function leaseCount(key)
  local count = counts[key] or redis.call('ZCOUNT', key, '(' .. now, '+inf')
  counts[key] = count
  return count
end

-- The names of a lease's members begin with the request's id.
local suffixes = {}
local function suffix(index)
  local text = suffixes[index] or '#' .. index
  suffixes[index] = text
  return text
end

local function takeLease(key, id, amount, diesAt)
  local count = counts[key]
  for index = 1, amount do addMember(key, diesAt, id .. suffix(index)) end
  -- A key without live members needs an expiry; from here on, renewals prolong it.
  if count == 0 then toKeep[#toKeep + 1] = key end
  counts[key] = count + amount
end

local function dropLease(key, id, amount)
  for index = 1, amount do removeMember(key, id .. suffix(index)) end
end

-- A rate is a bucket that fills by what is taken and drains within one period. It stores the policy by which it drains,
-- because a request that is settled may have begun under an older one.
local function rateOf(key, max, periodMs)
  local rate = rates[key]
  if rate then return rate end
  local bucket = redis.call('HMGET', key, 'level', 'at', 'max', 'period')
  rate = { level = 0, max = tonumber(bucket[3]) or max, periodMs = tonumber(bucket[4]) or periodMs }
  if bucket[1] then
    local sinceMs = at - bucket[2]
    rate.level = math.max(0, bucket[1] - math.max(0, sinceMs) * rate.max / rate.periodMs)
    -- The clock was set back: write the bucket anew, so that it drains from now on and not only once the clock has
    -- caught up.
    rate.isChanged = sinceMs < 0
  end
  rates[key] = rate
  return rate
end

-- The bucket under the policy of the current request. It is at most full then, so that a caller with a new policy waits
-- no longer than that policy says.
local function rateNow(key, max, periodMs)
  local rate = rateOf(key, max, periodMs)
  if rate.max ~= max or rate.periodMs ~= periodMs then
    rate.level, rate.max, rate.periodMs, rate.isChanged = math.min(rate.level, max), max, periodMs, true
  end
  return rate
end

local function setRateLevel(rate, level)
  rate.level, rate.isChanged = level > 0 and level or 0, true
end

-- A budget counts what is spent and what is reserved. With a period, what is spent is forgotten at its end. It stores
-- its period for the same reason as a rate its policy.
local function beginPeriod(budget)
  local window = budget.periodMs and math.floor(at / budget.periodMs)
  if window and window ~= budget.window then budget.spent, budget.window = 0, window end
end

local function budgetOf(key, periodMs)
  local budget = budgets[key]
  if budget then return budget end
  local state = redis.call('HMGET', key, 'spent', 'reserved', 'window', 'period')
  budget = {
    spent = tonumber(state[1] or '0'),
    reserved = tonumber(state[2] or '0'),
    window = tonumber(state[3] or '-1'),
    periodMs = periodMs,
    isKnown = state[1],
  }
  -- 0 is for ever.
  if state[4] then budget.periodMs = state[4] ~= '0' and tonumber(state[4]) or nil end
  beginPeriod(budget)
  budgets[key] = budget
  return budget
end

-- The budget under the policy of the current request.
local function budgetNow(key, periodMs)
  local budget = budgetOf(key, periodMs)
  if budget.periodMs ~= periodMs then
    budget.periodMs = periodMs
    beginPeriod(budget)
  end
  return budget
end

local function setBudget(budget, spent, reserved)
  budget.spent, budget.reserved, budget.isChanged = spent, math.max(0, reserved), true
end

local function writeRate(key, rate)
  if not rate.isChanged then return end
  if rate.level <= 0 then
    redis.call('DEL', key)
    return
  end
  local level, max, periodMs = number(rate.level), number(rate.max), number(rate.periodMs)
  redis.call('HSET', key, 'level', level, 'at', now, 'max', max, 'period', periodMs)
  redis.call('PEXPIRE', key, math.ceil(rate.level * rate.periodMs / rate.max) + 1000)
end

local function writeBudget(key, budget)
  if not budget.isChanged then return end
  local spent, reserved, periodMs = number(budget.spent), number(budget.reserved), budget.periodMs
  if periodMs then
    local window = number(budget.window)
    redis.call('HSET', key, 'spent', spent, 'reserved', reserved, 'period', number(periodMs), 'window', window)
    redis.call('PEXPIRE', key, 2 * periodMs + bookLifeMs)
  else
    redis.call('HSET', key, 'spent', spent, 'reserved', reserved, 'period', '0')
    redis.call('PERSIST', key)
  end
end

-- Writes all changes and forgets what was read. Removals come first, because a request that died may have come again.
local function writeCounts()
  for key, members in pairs(toRemove) do callInParts('ZREM', key, members) end
  for key, members in pairs(toAdd) do callInParts('ZADD', key, members) end
  for _, key in ipairs(toKeep) do redis.call('PEXPIRE', key, bookLifeMs) end
  for key, rate in pairs(rates) do writeRate(key, rate) end
  for key, budget in pairs(budgets) do writeBudget(key, budget) end
  counts, rates, budgets = {}, {}, {}
  toAdd, toRemove, toKeep = {}, {}, {}
end

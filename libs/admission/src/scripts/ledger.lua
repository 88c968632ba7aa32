-- The book of one slot, included before every other script.
--   KEYS[1]  open: zset, request id by the instant (ms, Redis time) at which its lease dies
--   KEYS[2]  records: hash, request id -> 'input seen holds': tokens estimated, tokens seen, and in JSON the checks
--            as they were asked: what each took is settled or given back under the same key and amount
-- The checks name further keys; all of them carry the slot's hash tag, so a Cluster runs this on one node.
-- Records are kept as text and parsed late: encoding them as one JSON value cost a third of the script.

local bookLifeMs = 7 * 24 * 3600 * 1000

local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function number(text)
  return string.format('%.17g', text)
end

local function keepBook()
  redis.call('PEXPIRE', KEYS[1], bookLifeMs)
  redis.call('PEXPIRE', KEYS[2], bookLifeMs)
end

local function writeRecord(id, input, seen, holds)
  redis.call('HSET', KEYS[2], id, input .. ' ' .. seen .. ' ' .. holds)
end

local function readRecord(text)
  local input, seen, holds = string.match(text, '^(%S+) (%S+) (.*)$')
  return tonumber(input), tonumber(seen), holds
end

-- A lease set's expired members don't count, whether or not somebody removed them.
local function leaseCount(key, at)
  return redis.call('ZCOUNT', key, '(' .. at, '+inf')
end

local function leaseMembers(id, amount)
  local members = {}
  for index = 1, amount do members[index] = id .. '#' .. index end
  return members
end

local function dropLease(key, id, amount)
  redis.call('ZREM', key, unpack(leaseMembers(id, amount)))
end

-- A rate is a bucket that fills by what is taken and runs empty in one period.
local function rateLevel(key, at, max, periodMs)
  local bucket = redis.call('HMGET', key, 'level', 'at')
  if not bucket[1] then return 0 end
  return math.max(0, tonumber(bucket[1]) - math.max(0, at - tonumber(bucket[2])) * max / periodMs)
end

local function setRateLevel(key, at, max, periodMs, level)
  if level <= 0 then
    redis.call('DEL', key)
    return
  end
  redis.call('HSET', key, 'level', number(level), 'at', number(at))
  redis.call('PEXPIRE', key, math.ceil(level * periodMs / max) + 1000)
end

-- A budget counts what is spent and what is reserved; with a period, what is spent is forgotten at its end.
local function budgetState(key, at, periodMs)
  local state = redis.call('HMGET', key, 'spent', 'reserved', 'window')
  local spent, reserved = tonumber(state[1] or '0'), tonumber(state[2] or '0')
  if periodMs and tonumber(state[3] or '-1') ~= math.floor(at / periodMs) then spent = 0 end
  return spent, reserved
end

local function setBudget(key, at, periodMs, spent, reserved)
  redis.call('HSET', key, 'spent', number(spent), 'reserved', number(math.max(0, reserved)))
  if periodMs then
    redis.call('HSET', key, 'window', number(math.floor(at / periodMs)))
    redis.call('PEXPIRE', key, 2 * periodMs + bookLifeMs)
  else
    redis.call('PERSIST', key)
  end
end

local settleHold = {
  lease = function(hold, id)
    dropLease(hold.key, id, hold.amount)
  end,
  rate = function(hold, _, charge, at)
    local correction
    if charge == nil then
      correction = -hold.amount
    elseif hold.settles then
      correction = charge - hold.amount
    else
      return
    end
    local level = rateLevel(hold.key, at, hold.max, hold.periodMs)
    setRateLevel(hold.key, at, hold.max, hold.periodMs, level + correction)
  end,
  budget = function(hold, _, charge, at)
    local spent, reserved = budgetState(hold.key, at, hold.periodMs)
    setBudget(hold.key, at, hold.periodMs, spent + (charge or 0), reserved - hold.amount)
  end,
}

-- Ends a request's part in this slot, once: without a record there is nothing left to do.
-- charge: tokens to book; nil gives everything back as if it had never been asked for.
local function settle(id, charge, at)
  local text = redis.call('HGET', KEYS[2], id)
  redis.call('ZREM', KEYS[1], id)
  if not text then return 0 end
  redis.call('HDEL', KEYS[2], id)
  local _, _, holds = readRecord(text)
  for _, hold in ipairs(cjson.decode(holds)) do settleHold[hold.primitive](hold, id, charge, at) end
  return 1
end

-- Requests whose ingress is gone: whoever comes by books the input estimate and the output that was seen.
local function sweep(at)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', at, 'LIMIT', 0, 100)) do
    local text = redis.call('HGET', KEYS[2], id)
    local input, seen = readRecord(text or '0 0 []')
    settle(id, input + seen, at)
  end
end

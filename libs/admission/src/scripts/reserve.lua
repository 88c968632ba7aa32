-- Takes all of the checks or none. A repeated request id gets the first answer and takes nothing more.
--   ARGV[1] request id   ARGV[2] lease ms   ARGV[3] input tokens (estimate)   ARGV[4] checks as JSON
-- Answer, JSON: { granted, levels: what each check saw before it took, meanMs? }
--            or { refused: index of the first check that said no, levels, max, waitMs?, meanMs? }

local id, leaseMs, input = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local checks = cjson.decode(ARGV[4])
local at = clock()
sweep(at)

local before = redis.call('HGET', KEYS[2], id)
if before then return cjson.encode(cjson.decode(before).answer) end
local bookIsEmpty = redis.call('EXISTS', KEYS[2]) == 0

-- Each looks without taking: level seen, the most it may be, and after which time a refused one would fit.
local look = {
  lease = function(check)
    local level = leaseCount(check.key, at)
    local backlog = check.backlog
    if not backlog then return level, check.max end
    local meanMs = math.max(1, tonumber(redis.call('GET', backlog.meanKey) or backlog.priorMeanMs))
    local waiting = math.max(backlog.minWaiting, math.floor(backlog.slots * backlog.waitBudgetMs / meanMs))
    if backlog.maxWaiting then waiting = math.min(waiting, backlog.maxWaiting) end
    return level, backlog.slots + waiting, nil, meanMs
  end,
  rate = function(check)
    local level = rateLevel(check.key, at, check.max, check.periodMs)
    local over = level + check.amount - check.max
    return level, check.max, math.ceil(over * check.periodMs / check.max)
  end,
  budget = function(check)
    local spent, reserved = budgetState(check.key, at, check.periodMs)
    -- Nobody holds anything, so what still counts as reserved belonged to records that Redis lost.
    if bookIsEmpty then reserved = 0 end
    local wait = check.periodMs and check.periodMs - at % check.periodMs
    return spent + reserved, check.max, wait
  end,
}

local levels, answer = {}, { granted = true }
for index, check in ipairs(checks) do
  local level, max, waitMs, meanMs = look[check.primitive](check)
  levels[index] = level
  answer.meanMs = meanMs or answer.meanMs
  if max and level + check.amount > max then
    return cjson.encode({ refused = index - 1, levels = levels, max = max, waitMs = waitMs, meanMs = answer.meanMs })
  end
end
answer.levels = levels

local take = {
  lease = function(check)
    takeLease(check.key, id, check.amount, at, leaseMs)
  end,
  rate = function(check, level)
    setRateLevel(check.key, at, check.max, check.periodMs, level + check.amount)
  end,
  budget = function(check)
    local spent, reserved = budgetState(check.key, at, check.periodMs)
    if bookIsEmpty then reserved = 0 end
    setBudget(check.key, at, check.periodMs, spent, reserved + check.amount)
  end,
}
for index, check in ipairs(checks) do
  take[check.primitive](check, levels[index])
  check.backlog = nil
end

redis.call('ZADD', KEYS[1], at + leaseMs, id)
redis.call('HSET', KEYS[2], id, cjson.encode({ input = input, seen = 0, holds = checks, answer = answer }))
keepBook()
return cjson.encode(answer)

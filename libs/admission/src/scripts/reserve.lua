-- Takes, for each request in turn, all of its checks or none. A repeated request id takes nothing more.
--   ARGV[1] lease ms; then for each request: its id, input tokens (estimate), checks as JSON
-- Answer: for each request { index of the check that said no, or -1; ms after which it would fit, or -1; mean
--         service time in ms, or -1; what each check saw before it took, up to the one that said no }

local leaseMs = tonumber(ARGV[1])
local at = clock()
sweep(at)

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

local take = {
  lease = function(check, level, id)
    local members = {}
    for index, name in ipairs(leaseMembers(id, check.amount)) do
      members[2 * index - 1], members[2 * index] = at + leaseMs, name
    end
    redis.call('ZADD', check.key, unpack(members))
    -- Renewals keep the key from here on.
    if level == 0 then redis.call('PEXPIRE', check.key, bookLifeMs) end
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

local function reserve(id, input, holds)
  local checks = cjson.decode(holds)
  local isRepeated = redis.call('HEXISTS', KEYS[2], id) == 1
  local levels = {}
  local answer = { -1, -1, -1 }
  for index, check in ipairs(checks) do
    local level, max, waitMs, meanMs = look[check.primitive](check)
    levels[index] = level
    answer[3] = meanMs or answer[3]
    answer[3 + index] = level
    if not isRepeated and max and level + check.amount > max then
      answer[1], answer[2] = index - 1, waitMs or -1
      return answer
    end
  end
  if isRepeated then return answer end
  for index, check in ipairs(checks) do take[check.primitive](check, levels[index], id) end
  redis.call('ZADD', KEYS[1], at + leaseMs, id)
  writeRecord(id, input, 0, holds)
  if bookIsEmpty then keepBook() end
  bookIsEmpty = false
  return answer
end

local answers = {}
for index = 2, #ARGV, 3 do
  answers[#answers + 1] = reserve(ARGV[index], ARGV[index + 1], ARGV[index + 2])
end
return answers

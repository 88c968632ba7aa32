-- Takes, for each request in turn, all of its parts or none. A repeated request id takes nothing more.
--   ARGV[1] lease ms; then for each request: its id, input tokens (estimate), numbers of its parts' books, as '2 1';
--           and for each part its checks as JSON
-- Answer: for each request { index of the check that said no, among those of all parts, or -1; ms after which it
--         would fit, or -1; mean service time in ms, or -1; ms since when the pool is busy; what each check saw
--         before it took, up to the one that said no }

local leaseMs = tonumber(ARGV[1])
local at = clock()
for _, book in ipairs(books) do
  sweep(book, at)
  book.wasEmpty = redis.call('EXISTS', book.recordsKey) == 0
  book.isEmpty = book.wasEmpty
end

-- A pool is busy from when half of its slots are taken until that was not so for a minute: time enough for whoever
-- waits to be picked up, even by workers that are slow to do it.
local calmAfterMs = 60 * 1000

-- Pools by their key of the mean: its value, and since when the pool is busy.
local pools = {}
local function poolOf(backlog)
  local pool = pools[backlog.meanKey]
  if not pool then
    local known = redis.call('MGET', backlog.meanKey, backlog.busyKey)
    pool = { meanMs = math.max(1, tonumber(known[1] or backlog.priorMeanMs)), busyKey = backlog.busyKey }
    pool.busySince = known[2] and math.min(at, tonumber(known[2]))
    pools[backlog.meanKey] = pool
  end
  return pool
end

local function writePools()
  for _, pool in pairs(pools) do
    if pool.isBusy then redis.call('SET', pool.busyKey, number(pool.busySince), 'PX', calmAfterMs) end
  end
end

-- Each looks without taking: level seen, the most it may be, and after which time a refused one would fit.
local look = {
  lease = function(check)
    local level = leaseCount(check.key, at)
    local backlog = check.backlog
    if not backlog then return level, check.max end
    local pool = poolOf(backlog)
    local meanMs = pool.meanMs
    if 2 * level >= backlog.slots then pool.isBusy, pool.busySince = true, pool.busySince or at end
    local waiting = math.max(backlog.minWaiting, math.floor(backlog.slots * backlog.waitBudgetMs / meanMs))
    if backlog.maxWaiting then waiting = math.min(waiting, backlog.maxWaiting) end
    return level, backlog.slots + waiting, nil, meanMs, pool.busySince and at - pool.busySince or 0
  end,
  rate = function(check)
    local level = rateLevel(check.key, at, check.max, check.periodMs)
    local over = level + check.amount - check.max
    return level, check.max, math.ceil(over * check.periodMs / check.max)
  end,
  budget = function(check, book)
    local spent, reserved = budgetState(check.key, at, check.periodMs)
    -- Nobody holds anything, so what still counts as reserved belonged to records that Redis lost.
    if book.isEmpty then reserved = 0 end
    local wait = check.periodMs and check.periodMs - at % check.periodMs
    return spent + reserved, check.max, wait
  end,
}

local take = {
  lease = function(check, _, id)
    takeLease(check.key, id, check.amount, at + leaseMs)
  end,
  rate = function(check, level)
    setRateLevel(check.key, at, check.max, check.periodMs, level + check.amount)
  end,
  budget = function(check, _, _, book)
    local spent, reserved = budgetState(check.key, at, check.periodMs)
    if book.isEmpty then reserved = 0 end
    setBudget(check.key, at, check.periodMs, spent, reserved + check.amount)
  end,
}

-- `from` is the place in ARGV of the first part's checks.
local function reserve(id, input, theirs, from)
  local answer = { -1, -1, -1, 0 }
  local seen = 4
  for part = 1, #theirs do
    local book, checks = theirs[part], parseHolds(ARGV[from + part - 1])
    local isKnown = book.records[id]
    for index = 1, #checks do
      local check = checks[index]
      local level, max, waitMs, meanMs, busyForMs = look[check.primitive](check, book)
      seen = seen + 1
      answer[seen] = level
      if meanMs then answer[3], answer[4] = meanMs, busyForMs end
      if not isKnown and max and level + check.amount > max then
        answer[1], answer[2] = seen - 5, waitMs or -1
        return answer
      end
    end
  end
  seen = 4
  for part = 1, #theirs do
    local book, holds = theirs[part], ARGV[from + part - 1]
    local checks = parseHolds(holds)
    if not book.records[id] then
      for index = 1, #checks do
        take[checks[index].primitive](checks[index], answer[seen + index], id, book)
      end
      addMember(book.openKey, at + leaseMs, id)
      writeRecord(book, id, input, 0, holds)
      book.isEmpty = false
    end
    seen = seen + #checks
  end
  return answer
end

local index = 2
while index < #ARGV do
  local theirs = booksOf(ARGV[index + 2])
  for part = 1, #theirs do wantRecord(theirs[part], ARGV[index]) end
  index = index + 3 + #theirs
end
readRecords()

local answers = {}
index = 2
while index < #ARGV do
  local theirs = booksOf(ARGV[index + 2])
  answers[#answers + 1] = reserve(ARGV[index], ARGV[index + 1], theirs, index + 3)
  index = index + 3 + #theirs
end
writeBooks()
writePools()
for _, book in ipairs(books) do
  if book.wasEmpty and not book.isEmpty then keepBook(book) end
end
return answers

-- For each request in turn, takes all of its parts or none, and puts the jobs of admitted requests into the queue of
-- their pool. A repeated request id takes nothing more, and one that was given up takes and puts in nothing.
--   ARGV[1] lease ms   ARGV[2] ms that a lease of any ingress lasts at most
--   ARGV[3] number of lists of checks; then for each list: the number of its book, the checks as JSON, and the checks
--           as a record keeps them
--   then for each request: its id; its input tokens (estimate); the numbers of the lists that its parts ask, such as
--           '2 1'; for each part, the amounts that it asks, as JSON; the number of its jobs; for each job, its id, data
--           and life in ms
-- Answer: one packed list of numbers. For each request: the index of the check that refuses for longest, within the
--         first part that refuses, or -1; after how many ms it would fit, or -1 for never; the mean service time in ms,
--         or -1; how many levels and how many priorities follow; the level of each check before it took, up to that
--         part; and, if the request is admitted, the priority of each of its jobs

local leaseMs = tonumber(ARGV[1])
-- As text, because formatting the number took a third of a microsecond for every member that gets it.
local diesAt = string.format('%.0f', at + leaseMs)
for _, book in ipairs(books) do
  sweep(book)
  local lifeMs = redis.call('PTTL', book.recordsKey)
  book.isEmpty = lifeMs == -2
  -- Or it holds nothing but requests that were given up.
  book.isNew = lifeMs <= givenUpLifeMs
end

-- A pool becomes busy when half of its slots are taken, and calm when fewer have been taken for a minute. That is long
-- enough for waiting jobs to be claimed, even by slow workers. While nobody asks it stays busy, because jobs that wait
-- for long generations are still there when the next request comes.
local calmAfterMs = 60 * 1000
-- Longer than any request waits.
local busyLifeMs = 24 * 3600 * 1000

-- Pools by the key of their mean. A pool has its mean, the time since which it is busy, its stored share, the share of
-- a tenant of weight 1 if requests wait, and the tenants that have asked in this run, by the key of their places.
local pools = {}
local function poolOf(backlog, book)
  local pool = pools[backlog.meanKey]
  if not pool then
    local known = redis.call('MGET', backlog.meanKey, backlog.busyKey, bookKey(book, 'busy:unit-share'))
    pool = { meanMs = math.max(1, tonumber(known[1] or backlog.priorMeanMs)), busyKey = backlog.busyKey }
    pool.busySince = known[2] and math.min(at, tonumber(known[2]))
    pool.book, pool.knownShare, pool.tenants = book, known[3], {}
    pools[backlog.meanKey] = pool
  end
  return pool
end

local function tenantOf(pool, check)
  local tenant = pool.tenants[check.key]
  if not tenant then
    tenant = { key = check.key, meanMs = pool.meanMs, weight = check.weight or 1 }
    pool.tenants[check.key] = tenant
  end
  if pool.unitShare and not tenant.isKnown then
    tenant.isKnown = true
    tenant.meanMs = math.max(1, tonumber(redis.call('GET', tenantMeanKey(check.key)) or pool.meanMs))
  end
  return tenant
end

-- Returns how many places a pool has for anyone, and how many it has including those kept for tenants that hold few.
-- Without the kept places, a flood by one tenant would leave another only its proportion of all arriving requests,
-- however small that is and however fair the order of waiting jobs.
local function roomOf(backlog, meanMs)
  local waiting = math.max(backlog.minWaiting, math.floor(backlog.slots * backlog.waitBudgetMs / meanMs))
  local spare = backlog.slots
  if backlog.maxWaiting then
    waiting = math.min(waiting, backlog.maxWaiting)
    spare = math.min(spare, backlog.maxWaiting - waiting)
  end
  return backlog.slots + waiting, backlog.slots + waiting + spare
end

local function writePools()
  for _, pool in pairs(pools) do
    if pool.unitShare then rememberTenants(pool) end
    writeTurn(pool)
    if pool.isBusy then redis.call('SET', pool.busyKey, number(pool.busySince), 'PX', busyLifeMs) end
  end
end

local function seeBusy(pool)
  pool.isBusy, pool.busySince = true, pool.busySince or at
end

local function seeCalm(pool)
  if pool.isBusy or not pool.busySince then return end
  pool.busyLeftMs = pool.busyLeftMs or redis.call('PTTL', pool.busyKey)
  if pool.busyLeftMs > busyLifeMs - calmAfterMs then return end
  redis.call('DEL', pool.busyKey)
  pool.busySince = nil
end

-- Looks at a pool of whose places `level` are taken, before the room of its check is read.
local function seePool(check, book, level)
  local backlog = check.backlog
  local pool = poolOf(backlog, book)
  if 2 * level >= backlog.slots then seeBusy(pool) else seeCalm(pool) end
  if not check.room then check.room, check.max = roomOf(backlog, pool.meanMs) end
  return pool
end

-- After how long a refused check would fit, given the excess `over`; 0 if that may be at any moment.
local waitMs = {
  lease = function() return 0 end,
  rate = function(check, over) return math.ceil(over * check.periodMs / check.max) end,
  budget = function(check, over)
    -- Reservations alone are in the way. Most of them are given back, because requests spend less than they may.
    if over <= budgetOf(check.key).reserved then return 0 end
    return check.periodMs and check.periodMs - at % check.periodMs or math.huge
  end,
}

local take = {
  lease = function(check, amount, id)
    takeLease(check.key, id, amount, diesAt)
  end,
  rate = function(check, amount)
    local rate = rateOf(check.key)
    setRateLevel(rate, rate.level + amount)
  end,
  budget = function(check, amount)
    local budget = budgetNow(check.key, check.periodMs)
    setBudget(budget, budget.spent, budget.reserved + amount)
  end,
}

local lists = {}
local first = 4
for number = 1, tonumber(ARGV[3]) do
  local book, asked, kept = ARGV[first], ARGV[first + 1], ARGV[first + 2]
  lists[number] = { book = books[tonumber(book)], checks = cjson.decode(asked), kept = kept }
  first = first + 3
end
local listsOf = namedOf(lists)

local answers = {}
local size = 0

-- The jobs that enter the queues, by queue: ids, data, lives and priorities.
local entering = {}

-- Notes the jobs of a request for their queue. `from` is the index in ARGV of the number of jobs, `priorities` the
-- index in `answers` before the first of their priorities.
local function enter(backlog, priorities, from)
  local jobs = tonumber(ARGV[from])
  if jobs == 0 then return end
  local queue = backlog.queue
  local list = entering[queue.prioritized] or { queue = queue, jobs = {} }
  entering[queue.prioritized] = list
  for job = 1, jobs do
    local index, last = from + 3 * job, #list.jobs
    list.jobs[last + 1], list.jobs[last + 2] = ARGV[index - 2], ARGV[index - 1]
    list.jobs[last + 3], list.jobs[last + 4] = ARGV[index], answers[priorities + job]
  end
end

-- Answers the priorities of a request's jobs. Each job counts as a request of its own; otherwise all jobs of a request
-- for a hundred answers would come before every later request.
local function answerPriorities(pool, share, meanMs, ofTenant, jobs)
  local busyForMs = pool.busySince and at - pool.busySince or 0
  for job = 1, jobs do
    answers[size + job] = fairPriority(ofTenant + job - 1, share, meanMs, busyForMs)
  end
  size = size + jobs
end

-- Answers a request. Returns whether it is admitted, and the backlog of its pool. `from` is the index in ARGV before
-- its amounts.
local function ask(id, asked, from)
  local start, seen = size, size + 5
  local pool, backlog, spare, most, jobs, tenant, share
  local refused, longestMs
  answers[start + 1], answers[start + 2], answers[start + 3] = -1, -1, -1
  answers[start + 5] = 0
  for part = 1, #asked do
    local list, amounts = asked[part], parseAmounts(ARGV[from + part])
    local book, checks = list.book, list.checks
    local isKnown = book.records[id]
    for index = 1, #checks do
      local check = checks[index]
      local level = levelOf[check.primitive](check, book)
      local itsPool = check.backlog and seePool(check, book, level)
      local max = check.max
      seen = seen + 1
      -- The level of a rate has fractions, which Redis would cut off in the caller's favour.
      answers[seen] = math.ceil(level)
      if itsPool then
        pool, backlog, jobs = itsPool, check.backlog, amounts[index]
        answers[start + 3] = pool.meanMs
        -- A request that needs a kept place is admitted only if its tenant then holds no more places than were free (a
        -- dynamic threshold, as in switches with shared memory), so that even several greedy tenants leave some free.
        -- The next check counts the tenant's places.
        if level + amounts[index] > check.room then spare, most = max - level, max - check.room end
        if level >= backlog.slots then
          pool.unitShare = pool.unitShare or unitShareOf(book, backlog.slots, pool.knownShare)
        end
      elseif pool then
        tenant = tenantOf(pool, check)
        share = shareOf(pool.unitShare, tenant.weight, backlog.slots)
        max = pool.unitShare and placesOf(share, backlog.waitBudgetMs, tenant.meanMs) + amounts[index]
        if spare then
          spare = spare - keptFrom(pool, check.key)
          max = math.min(spare, max or spare)
          local isWithout = level == 0 and amounts[index] > spare and not isKnown
          if isWithout and not turnOf(pool) and 2 * amounts[index] <= most + 1 then
            setTurn(pool, { key = check.key, places = amounts[index] })
          end
        end
      end
      local over = max and not isKnown and level + amounts[index] - max or 0
      if over > 0 then
        local isTooMuch = check.max and amounts[index] > check.max
        local wait = isTooMuch and math.huge or waitMs[check.primitive](check, over)
        -- The longest wait counts: a caller that comes again after it should not be refused by another check.
        if not refused or wait > longestMs then refused, longestMs = seen - start - 6, wait end
      end
    end
    if refused then
      answers[start + 1], answers[start + 2] = refused, longestMs < math.huge and longestMs or -1
      answers[start + 4] = seen - start - 5
      size = seen
      return false
    end
  end
  answers[start + 4] = seen - start - 5
  size = seen
  -- The last level is that of the check after the pool's: the places of the request's tenant.
  if pool then
    answers[start + 5] = jobs
    answerPriorities(pool, share, tenant.meanMs, answers[seen], jobs)
    tenant.hasEntered = true
    if pool.turn and pool.turn.key == tenant.key then setTurn(pool, false) end
  end
  return true, backlog
end

local function takeAll(id, input, asked, from)
  for part = 1, #asked do
    local list, text = asked[part], ARGV[from + part]
    local book, checks = list.book, list.checks
    if not book.records[id] then
      local amounts = parseAmounts(text)
      for index = 1, #checks do
        local check = checks[index]
        take[check.primitive](check, amounts[index], id)
      end
      addMember(book.openKey, diesAt, id)
      writeRecord(book, id, input .. ' 0 ' .. text .. ' ' .. list.kept)
      book.isEmpty = false
    end
  end
end

-- Calls `visit` with each request: its id, its input tokens, its lists of checks, and the index in ARGV before its
-- amounts.
local function eachRequest(visit)
  local index = first
  while index < #ARGV do
    local asked = listsOf(ARGV[index + 2])
    visit(ARGV[index], ARGV[index + 1], asked, index + 2)
    local jobs = index + 3 + #asked
    index = jobs + 1 + 3 * tonumber(ARGV[jobs])
  end
end

eachRequest(function(id, _, asked)
  for part = 1, #asked do wantRecord(asked[part].book, id) end
end)
readRecords()
local hasRefused = false
eachRequest(function(id, input, asked, from)
  local levels = size + 5
  local isAdmitted, backlog = ask(id, asked, from)
  if not isAdmitted then
    hasRefused = true
    return
  end
  takeAll(id, input, asked, from)
  if asked[#asked].book.records[id] == givenUp then return end
  enter(backlog, levels + answers[levels - 1], from + #asked + 1)
end)
writeBooks()
writePools()
for _, book in ipairs(books) do
  if book.isNew and not book.isEmpty then keepBook(book) end
end
for _, list in pairs(entering) do putJobs(list.queue, at, list.jobs) end
-- What refuses may be leases of a dead ingress from before the clock was set back. Nobody else shortens them while the
-- refused come again: each has promised to look after the book, and none holds anything in it to renew.
if hasRefused then
  for _, book in ipairs(books) do shortenLeases(book, tonumber(ARGV[2]), leaseMs) end
end
return cmsgpack.pack(answers)

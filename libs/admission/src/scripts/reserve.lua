-- Takes, for each request in turn, all of its parts or none, and puts the jobs of those that got theirs into the
-- queue of their pool. A repeated request id takes nothing more.
--   ARGV[1] lease ms   ARGV[2] number of lists of checks; for each: number of its book, the checks as JSON, and as a
--           record keeps them
--   then for each request: its id, input tokens (estimate), numbers of the lists that its parts ask, as '2 1'; and for
--   each part the amounts that it asks of them, in JSON; then the number of its jobs, and the id, data and life in ms of each
-- Answer, one list for all requests: index of the check that says no for longest, among those of the first part that
--         does, or -1; ms after which it would fit, or -1 for never; mean service time in ms, or -1; the numbers of
--         levels and of priorities; what each check saw before it took, up to that part; and the priority of each of
--         its jobs where it may enter

local leaseMs = tonumber(ARGV[1])
-- As text: as a number it costs each member that gets it a third of a microsecond.
local diesAt = string.format('%.0f', at + leaseMs)
for _, book in ipairs(books) do
  sweep(book)
  book.wasEmpty = redis.call('EXISTS', book.recordsKey) == 0
  book.isEmpty = book.wasEmpty
end

-- A pool is busy from when half of its slots are taken until that was not so for a minute: time enough for whoever
-- waits to be picked up, even by workers that are slow to do it. While nobody asks it counts as busy: those who wait for
-- long generations are still there when somebody comes again.
local calmAfterMs = 60 * 1000
-- Longer than anybody waits.
local busyLifeMs = 24 * 3600 * 1000

-- Pools by their key of the mean: its value, since when the pool is busy, what its key of the share held, the share of
-- a tenant of weight 1 if somebody waits, and the tenants that have asked, by the key of their places.
local pools = {}
local function poolOf(backlog, book)
  local pool = pools[backlog.meanKey]
  if not pool then
    local known = redis.call('MGET', backlog.meanKey, backlog.busyKey, slotKey(book, 'busy:unit-share'))
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
    tenant = { meanMs = pool.meanMs, weight = check.weight or 1 }
    pool.tenants[check.key] = tenant
  end
  if pool.unitShare and not tenant.isKnown then
    tenant.isKnown = true
    tenant.meanMs = math.max(1, tonumber(redis.call('GET', tenantMeanKey(check.key)) or pool.meanMs))
  end
  return tenant
end

-- How many places a pool has for whoever comes first, and how many with those that it keeps for tenants that have few:
-- without these, a flood of one tenant would leave to another as many places as its requests are among all that come,
-- however few they are and however fair the order of those who wait.
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

-- Each looks without taking: level seen, the most it may be, and the pool if it is one.
local look = {
  lease = function(check, book)
    local level = leaseCount(check.key)
    local backlog = check.backlog
    if not backlog then return level, check.max end
    local pool = poolOf(backlog, book)
    if 2 * level >= backlog.slots then seeBusy(pool) else seeCalm(pool) end
    if not check.room then check.room, check.max = roomOf(backlog, pool.meanMs) end
    return level, check.max, pool
  end,
  rate = function(check)
    return rateNow(check.key, check.max, check.periodMs).level, check.max
  end,
  budget = function(check, book)
    local budget = budgetNow(check.key, check.periodMs)
    -- Nobody holds anything, so what still counts as reserved belonged to records that Redis lost.
    if book.isEmpty then budget.reserved = 0 end
    return budget.spent + budget.reserved, check.max
  end,
}

-- After which time a check that said no would fit, given by how much it was too much; 0 where that may be at any moment.
local waitMs = {
  lease = function() return 0 end,
  rate = function(check, over) return math.ceil(over * check.periodMs / check.max) end,
  budget = function(check, over)
    -- It is only reserved, and most of that comes back: requests spend less than they may.
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
local first = 3
for number = 1, tonumber(ARGV[2]) do
  local book, asked, kept = ARGV[first], ARGV[first + 1], ARGV[first + 2]
  lists[number] = { book = books[tonumber(book)], checks = cjson.decode(asked), kept = kept }
  first = first + 3
end
local listsOf = namedOf(lists)

local answers = {}
local size = 0

-- What enters the queues, by queue: ids, data, lives and priorities.
local entering = {}

-- `from` is the place in ARGV of the number of jobs, `priorities` that in the answers before theirs.
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

-- Answers the priorities of a request's jobs, each of which counts as a request of its own: or one for a hundred
-- answers would stand as a whole before all who come after it.
local function answerPriorities(pool, share, meanMs, ofTenant, jobs)
  local busyForMs = pool.busySince and at - pool.busySince or 0
  for job = 1, jobs do
    answers[size + job] = fairPriority(ofTenant + job - 1, share, meanMs, busyForMs)
  end
  size = size + jobs
end

-- Answers a request, and tells whether all said yes, and the backlog of its pool. `from` is the place in ARGV before its
-- amounts.
local function ask(id, asked, from)
  local start, seen = size, size + 5
  local pool, backlog, spare, jobs, tenant, share
  local refused, longestMs
  answers[start + 1], answers[start + 2], answers[start + 3] = -1, -1, -1
  answers[start + 5] = 0
  for part = 1, #asked do
    local list, amounts = asked[part], parseAmounts(ARGV[from + part])
    local book, checks = list.book, list.checks
    local isKnown = book.records[id]
    for index = 1, #checks do
      local check = checks[index]
      local level, max, itsPool = look[check.primitive](check, book)
      seen = seen + 1
      -- A rate runs empty by fractions; Redis would round what is left in the caller's favour.
      answers[seen] = math.ceil(level)
      if itsPool then
        pool, backlog, jobs = itsPool, check.backlog, amounts[index]
        answers[start + 3] = pool.meanMs
        -- Of what is kept, a tenant gets no more than what then is left (a dynamic threshold, as switches share their
        -- memory): so several that are greedy leave some of it. The check behind counts those of the tenant.
        if level + amounts[index] > check.room then spare = max - level end
        if level >= backlog.slots then
          pool.unitShare = pool.unitShare or unitShareOf(book, backlog.slots, pool.knownShare)
        end
      elseif pool then
        tenant = tenantOf(pool, check)
        share = shareOf(pool.unitShare, tenant.weight, backlog.slots)
        max = pool.unitShare and placesOf(share, backlog.waitBudgetMs, tenant.meanMs) + amounts[index]
        if spare then max = math.min(spare, max or spare) end
      end
      local over = max and not isKnown and level + amounts[index] - max or 0
      if over > 0 then
        local wait = waitMs[check.primitive](check, over)
        -- Who comes again when it fits here should not meet the next one that says no.
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
  -- The check behind that of a pool's places counts those that the request's tenant has there.
  if pool then
    answers[start + 5] = jobs
    answerPriorities(pool, share, tenant.meanMs, answers[seen], jobs)
    tenant.hasEntered = true
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

-- Calls `visit` with each request: its id, its input, the lists that it asks, and its place in ARGV before the amounts.
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
eachRequest(function(id, input, asked, from)
  local levels = size + 5
  local isAdmitted, backlog = ask(id, asked, from)
  if not isAdmitted then return end
  takeAll(id, input, asked, from)
  enter(backlog, levels + answers[levels - 1], from + #asked + 1)
end)
writeBooks()
writePools()
for _, book in ipairs(books) do
  if book.wasEmpty and not book.isEmpty then keepBook(book) end
end
for _, list in pairs(entering) do putJobs(list.queue, at, list.jobs) end
return answers

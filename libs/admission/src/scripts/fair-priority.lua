-- The priority of a tenant's next request, with a fraction: the time at which its turn would come if only requests of its
-- tenant were before it, served by the tenant's share of the slots (scripts/fair-share.lua). So a tenant that queues a
-- thousand requests does not delay the one of another. As this time moves on with the clock, a waiting request is not
-- overtaken for longer than the pool was expected to take for it anyway. Time counts from the moment at which the pool
-- became busy. It does not start anew when a slot becomes free: workers that are slow to claim jobs leave some waiting,
-- which would then be behind all that come later.
--   outstanding: generations of the tenant that are already in the pool, waiting or running
--   slots: the tenant's share of them, or all if nobody waits   meanMs: mean service time, that of the tenant if known
--   busyForMs: for how long the pool has been busy

-- The greatest priority number of BullMQ, which is served last.
local lastPriority = 2 ^ 21 - 1
-- Priorities per doubling of the time: up to 131 s they differ by about a millisecond, later by a 190,000th of the time
-- for which the pool has been busy. Parts of them tell turns apart that come closer to each other (put-jobs.lua): after
-- a month, turns within the same 14 s would have the same priority.
local prioritySteps = 2 ^ 17
local partsOfPriority = 2 ^ 16
-- So many doublings are 50 days. A pool that is scaled by its load is always busy, so from then on a doubling gets only a
-- sixteenth of the priorities: they last for thousands of years, and never have to wrap around.
local usualDoublings = 15

local function fairPriority(outstanding, slots, meanMs, busyForMs)
  local dueMs = busyForMs + outstanding * meanMs / slots
  local doublings = math.log(1 + dueMs / prioritySteps) / math.log(2)
  if doublings > usualDoublings then doublings = usualDoublings + (doublings - usualDoublings) / 16 end
  local parts = math.floor(prioritySteps * doublings * partsOfPriority)
  return math.min(lastPriority, 1 + parts / partsOfPriority)
end

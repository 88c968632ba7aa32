-- The BullMQ priority of a tenant's next request: the time at which its turn would come if only requests of its tenant
-- were before it, served by the tenant's share of the slots (scripts/fair-share.lua). So a tenant that queues a
-- thousand requests does not delay the one of another. As this time moves on with the clock, a waiting request is not
-- overtaken for longer than the pool was expected to take for it anyway. Time counts from the moment at which the pool
-- became busy. It does not start anew when a slot becomes free: workers that are slow to claim jobs leave some waiting,
-- which would then be behind all that come later.
--   outstanding: generations of the tenant that are already in the pool, waiting or running
--   slots: the tenant's share of them, or all if nobody waits   meanMs: mean service time, that of the tenant if known
--   busyForMs: for how long the pool has been busy

-- The greatest priority number of BullMQ, which is served last.
local lastPriority = 2 ^ 21 - 1
-- Priorities per doubling of the time. Up to 131 s they differ by about a millisecond, later by a 190,000th of the time
-- for which the pool has been busy. So they last for 99 days without a quiet minute, and never have to wrap around.
local prioritySteps = 2 ^ 17

local function fairPriority(outstanding, slots, meanMs, busyForMs)
  local dueMs = busyForMs + outstanding * meanMs / slots
  local doublings = math.log(1 + dueMs / prioritySteps) / math.log(2)
  return math.min(lastPriority, 1 + math.floor(prioritySteps * doublings))
end

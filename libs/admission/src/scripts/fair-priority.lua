-- The BullMQ priority of a tenant's next request: the instant at which its turn would come if all before it were its
-- tenant's own, and served by its tenant's share of the slots (scripts/fair-share.lua). So a tenant that queues a
-- thousand doesn't delay another's one, and since the instant moves on with the time, nobody who waits is overtaken for
-- longer than the pool was expected to take for him anyway.
-- The time counts from the moment when the pool became busy, and not anew as soon as a slot is free: workers that
-- are slow to pick up leave some waiting, who would stand behind all that come after them.
--   outstanding: generations of its tenant that are in the pool already, waiting or running
--   slots: its tenant's share of them, or all where nobody waits   meanMs: mean service time, its tenant's if known
--   busyForMs: for how long the pool has been busy

-- BullMQ's greatest priority number, which is served last.
local lastPriority = 2 ^ 21 - 1
-- Priorities per doubling of the time: 131 s in steps of a millisecond, and then to a 190,000th of the time since
-- when the pool is busy. So they last for 99 days without a quiet minute, and need no turning over.
local prioritySteps = 2 ^ 17

local function fairPriority(outstanding, slots, meanMs, busyForMs)
  local dueMs = busyForMs + outstanding * meanMs / slots
  local doublings = math.log(1 + dueMs / prioritySteps) / math.log(2)
  return math.min(lastPriority, 1 + math.floor(prioritySteps * doublings))
end

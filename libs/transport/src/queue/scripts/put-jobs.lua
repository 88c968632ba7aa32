-- Puts jobs into a pool's queue, as BullMQ lays out jobs with a priority: its own script takes one job a run, at
-- twice the cost, and keeps a log of events that serves nobody here. A job that waits already stays as it is.
--   queue: what the jobs' keys begin with, and the keys of meta, prioritized, the order within a priority, marker
--   now: epoch ms   jobs: for each its id, its data, for how many ms it is kept, its priority
local function putJobs(queue, now, jobs)
  local added = #jobs / 4
  local order = redis.call('INCRBY', queue.order, added) - added
  for index = 1, #jobs, 4 do
    local id, data, lifeMs, priority = jobs[index], jobs[index + 1], jobs[index + 2], jobs[index + 3]
    order = order + 1
    local score = priority * 0x100000000 + order % 0x100000000
    if redis.call('ZADD', queue.prioritized, 'NX', score, id) == 1 then
      local key = queue.jobPrefix .. id
      redis.call('HSET', key, 'name', 'generate', 'data', data, 'timestamp', now, 'delay', 0,
        'priority', priority, 'opts',
        '{"attempts":1,"removeOnComplete":true,"removeOnFail":true,"priority":' .. priority .. '}')
      redis.call('PEXPIRE', key, lifeMs)
    end
  end
  -- A worker that waits is woken by the marker; one that is busy looks by itself.
  if redis.call('HEXISTS', queue.meta, 'paused') == 0 then redis.call('ZADD', queue.marker, 0, '0') end
end

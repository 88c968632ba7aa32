-- Puts jobs into a pool's queue, in BullMQ's layout of jobs with a priority. BullMQ's own script takes one job per run,
-- at twice the cost, and keeps a log of events that nobody reads. A job that already waits stays as it is.
--   queue: the fields of `PoolQueueKeys`   now: epoch ms
--   jobs: for each job, its id, its data, for how many ms it is kept, its priority, which may have a fraction of 16 bits
local function putJobs(queue, now, jobs)
  local added = #jobs / 4
  local order = redis.call('INCRBY', queue.order, added) - added
  for index = 1, #jobs, 4 do
    local id, data, lifeMs, priority = jobs[index], jobs[index + 1], jobs[index + 2], jobs[index + 3]
    order = order + 1
    -- BullMQ fills all bits below the priority by the order. Of 32, half are enough for that.
    local score = priority * 0x100000000 + order % 0x10000
    local whole = math.floor(priority)
    if redis.call('ZADD', queue.prioritized, 'NX', score, id) == 1 then
      local key = queue.jobPrefix .. id
      redis.call('HSET', key, 'name', 'generate', 'data', data, 'timestamp', now, 'delay', 0,
        'priority', whole, 'opts',
        '{"attempts":1,"removeOnComplete":true,"removeOnFail":true,"priority":' .. whole .. '}')
      redis.call('PEXPIRE', key, lifeMs)
    end
  end
  -- The marker wakes a waiting worker; a busy one looks by itself.
  if redis.call('HEXISTS', queue.meta, 'paused') == 0 then redis.call('ZADD', queue.marker, 0, '0') end
end

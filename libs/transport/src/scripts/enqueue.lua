-- Puts jobs into a pool's queue, as BullMQ lays out jobs with a priority: its own script takes one job a run, at
-- twice the cost, and keeps a log of events that serves nobody here.
--   KEYS[1] meta   KEYS[2] prioritized   KEYS[3] counter of the order within a priority   KEYS[4] marker
--   ARGV[1] what the jobs' keys begin with   ARGV[2] epoch ms; then for each job: its id, its data, its priority
-- A job that waits already stays as it is.

local added = (#ARGV - 2) / 3
local order = redis.call('INCRBY', KEYS[3], added) - added
for index = 3, #ARGV, 3 do
  local id, data, priority = ARGV[index], ARGV[index + 1], ARGV[index + 2]
  order = order + 1
  local score = priority * 0x100000000 + order % 0x100000000
  if redis.call('ZADD', KEYS[2], 'NX', score, id) == 1 then
    redis.call('HSET', ARGV[1] .. id, 'name', 'generate', 'data', data, 'timestamp', ARGV[2], 'delay', 0,
      'priority', priority, 'opts',
      '{"attempts":1,"removeOnComplete":true,"removeOnFail":true,"priority":' .. priority .. '}')
  end
end
-- A worker that waits is woken by the marker; one that is busy looks by itself.
if redis.call('HEXISTS', KEYS[1], 'paused') == 0 then redis.call('ZADD', KEYS[4], 0, '0') end

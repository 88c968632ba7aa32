-- Takes the first jobs of a pool's queue and deletes them from Redis: from here on they belong to their worker.
--   KEYS[1] meta   KEYS[2] prioritized   KEYS[3] counter of the order within a priority   KEYS[4] marker
--   ARGV[1] prefix of the keys of jobs   ARGV[2] how many jobs at most
--   ARGV[3] bytes after which no further job is taken   ARGV[4] bytes that a job may have
-- Answer: for each job, its data and for how many more ms it would have been kept; negative means for ever.
-- Or 'large' alone: the first job has more bytes than it may, and none was taken.

if redis.call('HEXISTS', KEYS[1], 'paused') == 1 then return {} end

local popped = redis.call('ZPOPMIN', KEYS[2], ARGV[2])
local keys, claimed, bytes, limit, most = {}, {}, 0, tonumber(ARGV[3]), tonumber(ARGV[4])
local isOver = false
for index = 1, #popped, 2 do
  local key = ARGV[1] .. popped[index]
  isOver = isOver or bytes >= limit or redis.call('HSTRLEN', key, 'data') > most
  if isOver then
    -- This job goes back to its place.
    redis.call('ZADD', KEYS[2], popped[index + 1], popped[index])
  else
    keys[#keys + 1] = key
    -- The data is gone if its time was over, or if somebody deleted the job and left its place in the queue.
    local data = redis.call('HGET', key, 'data')
    if data then
      bytes = bytes + #data
      claimed[#claimed + 1] = data
      claimed[#claimed + 1] = redis.call('PTTL', key)
    end
  end
end
if #keys > 0 then redis.call('DEL', unpack(keys)) end

if redis.call('EXISTS', KEYS[2]) == 1 then
  redis.call('ZADD', KEYS[4], 0, '0')
else
  redis.call('DEL', KEYS[3])
end
if isOver and #claimed == 0 then return {'large'} end
return claimed

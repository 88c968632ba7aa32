-- Finds slots whose promise nobody has renewed, so that nobody looks after them any more; the oldest come first.
--   KEYS[1] slots in use, see promise.lua   ARGV[1] how many at most

local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
return redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[1])

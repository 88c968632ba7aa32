-- Promises to look after books, by the time of Redis, because the clocks of hosts differ.
--   KEYS[1] books in use: zset of books, each with the time (ms) until which a process looks after it
--   ARGV[1] for how many ms that is   ARGV[2] how long the set is kept, ms   then the books

local time = redis.call('TIME')
local untilMs = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1])
local members = {}
for index = 3, #ARGV do
  local size = #members
  members[size + 1], members[size + 2] = untilMs, ARGV[index]
end
-- Lua passes about 8,000 values to a function at most.
for from = 1, #members, 4000 do
  redis.call('ZADD', KEYS[1], unpack(members, from, math.min(#members, from + 3999)))
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])

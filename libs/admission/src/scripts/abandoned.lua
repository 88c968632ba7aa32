-- Finds books that nobody looks after any more: first those whose promise has run out, the oldest first, then those
-- whose promise was made before the clock was set back and has not been renewed since.
--   KEYS[1] books in use, see promise.lua   ARGV[1] how many of either kind at most   ARGV[2] the longest promise, ms

local time = redis.call('TIME')
local at = time[1] * 1000 + math.floor(time[2] / 1000)
local books = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', at), 'LIMIT', 0, ARGV[1])
local latest = string.format('(%.0f', at + ARGV[2])
for _, book in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], latest, '+inf', 'LIMIT', 0, ARGV[1])) do
  books[#books + 1] = book
end
return books

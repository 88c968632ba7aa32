-- Takes the first jobs of a pool's queue and deletes them from Redis: from here on they belong to their worker.
--   KEYS[1] meta   KEYS[2] prioritized   KEYS[3] counter of the order within a priority   KEYS[4] marker
--   ARGV[1] prefix of the keys of jobs   ARGV[2] how many jobs at most
--   ARGV[3] bytes after which no further job is taken   ARGV[4] bytes that a job may have
--   ARGV[5], [6] what stands before and after the id of an ingress in the name of its reply channel; without them,
--           nobody is told of the claims   ARGV[7] the beginning of the message that tells it
-- Answer: for each job, its data; for how many more ms it would have been kept, negative means for ever; and 1 if its
--         ingress has been told, else 0.
-- Or 'large' alone: the first job has more bytes than it may, and none was taken.

if redis.call('HEXISTS', KEYS[1], 'paused') == 1 then return {} end

-- The beginning of a job, as an ingress writes it.
local envelope = '^{"version":1,"requestId":"([^"\\]+)","attempt":(%d+),"replyTo":"([^"\\]+)"'

-- Tells each ingress which attempts of its are claimed, and notes which of them it has been told.
local function announce(claimed)
  local told = {}
  for index = 1, #claimed, 3 do
    local request, attempt, ingress = string.match(claimed[index], envelope)
    if request then
      local list = told[ingress] or { texts = {}, flags = {} }
      told[ingress] = list
      list.texts[#list.texts + 1] = '["' .. request .. '",' .. attempt .. ']'
      list.flags[#list.flags + 1] = index + 2
    end
  end
  for ingress, list in pairs(told) do
    local text = ARGV[7] .. ',"c":[' .. table.concat(list.texts, ',') .. ']}'
    -- If this user may not publish, the claimed jobs must not be lost.
    local receivers = redis.pcall('PUBLISH', ARGV[5] .. ingress .. ARGV[6], text)
    if type(receivers) == 'number' and receivers > 0 then
      for _, index in ipairs(list.flags) do claimed[index] = 1 end
    end
  end
end

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
      local last = #claimed
      claimed[last + 1], claimed[last + 2], claimed[last + 3] = data, redis.call('PTTL', key), 0
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
if ARGV[5] then announce(claimed) end
return claimed

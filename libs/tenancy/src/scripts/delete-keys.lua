-- Deletes keys, and publishes that of each.
--   KEYS[1] keyed hashes by key id
--   ARGV[1] prefix of the records of keys   ARGV[2] prefix of the ids of a tenant's keys   ARGV[3] channel
--   then the ids
-- Answer: how many of them there were
local count = 0
for index = 4, #ARGV do
  local id = ARGV[index]
  local hash = redis.call('HGET', KEYS[1], id)
  if hash then
    -- This comes first, so that a user without the right to publish deletes nothing.
    redis.call('PUBLISH', ARGV[3], 'key ' .. hash)
    local record = ARGV[1] .. hash
    local tenant = redis.call('HGET', record, 'tenant')
    if tenant then redis.call('SREM', ARGV[2] .. tenant, id) end
    redis.call('DEL', record)
    redis.call('HDEL', KEYS[1], id)
    count = count + 1
  end
end
return count

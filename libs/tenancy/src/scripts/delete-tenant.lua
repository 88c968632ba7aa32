-- Deletes a tenant with all the keys that it has now, and publishes that.
--   KEYS[1] its record   KEYS[2] ids of its keys   KEYS[3] ids of all tenants   KEYS[4] keyed hashes by key id
--   ARGV[1] its id   ARGV[2] prefix of the records of keys   ARGV[3] channel   ARGV[4] the message
-- Answer: the ids of its keys, or nothing if there is no such tenant
if redis.call('HEXISTS', KEYS[1], 'id') == 0 then return false end
-- This comes first, so that a user without the right to publish deletes nothing.
redis.call('PUBLISH', ARGV[3], ARGV[4])
local ids = redis.call('SMEMBERS', KEYS[2])
for _, id in ipairs(ids) do
  local hash = redis.call('HGET', KEYS[4], id)
  if hash then redis.call('DEL', ARGV[2] .. hash) end
  redis.call('HDEL', KEYS[4], id)
end
redis.call('DEL', KEYS[1], KEYS[2])
redis.call('SREM', KEYS[3], ARGV[1])
return ids

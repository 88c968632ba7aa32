-- Deletes a tenant with all keys that it has in this moment, and tells of it.
--   KEYS[1] its record   KEYS[2] ids of its keys   KEYS[3] ids of all tenants   KEYS[4] keyed hashes by key id
--   ARGV[1] its id   ARGV[2] what the names of keys' records begin with   ARGV[3] channel   ARGV[4] what to tell
-- Answer: the ids of its keys, or nothing where there is no such tenant
if redis.call('HEXISTS', KEYS[1], 'id') == 0 then return false end
-- First, so that nothing is deleted by who may not tell of it.
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

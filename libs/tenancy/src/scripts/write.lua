-- Writes to the records of tenancy and tells of it. What a record must be there for is not written where it was deleted
-- a moment ago: it would belong to the next tenant of that name.
--   KEYS[1] the record   ARGV[1] 'new' where it need not be there   ARGV[2] channel   ARGV[3] what to tell
--   ARGV[4] commands in JSON, each as a list of its words
-- Answer: 1 if it was written
if ARGV[1] ~= 'new' and redis.call('HEXISTS', KEYS[1], 'id') == 0 then return 0 end
-- First, so that nothing is written by who may not tell of it. Who hears it can't ask before all is written.
redis.call('PUBLISH', ARGV[2], ARGV[3])
for _, command in ipairs(cjson.decode(ARGV[4])) do redis.call(unpack(command)) end
return 1

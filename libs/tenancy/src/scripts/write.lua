-- Writes to the records of tenancy and publishes that. A change of an existing record is not written if the record was
-- deleted a moment ago: the change would then belong to the next tenant of that name.
--   KEYS[1] the record   ARGV[1] 'new' if it need not exist   ARGV[2] channel   ARGV[3] the message
--   ARGV[4] commands as JSON, each a list of its words
-- Answer: 1 if it was written
if ARGV[1] ~= 'new' and redis.call('HEXISTS', KEYS[1], 'id') == 0 then return 0 end
-- This comes first, so that a user without the right to publish writes nothing. Receivers still see the whole change,
-- because Redis serves them only after this script.
redis.call('PUBLISH', ARGV[2], ARGV[3])
for _, command in ipairs(cjson.decode(ARGV[4])) do redis.call(unpack(command)) end
return 1

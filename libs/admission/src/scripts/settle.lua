-- Ends one request's part in this slot; a second time does nothing.
--   ARGV[1] request id   ARGV[2] tokens to book, or '' to give everything back
--   ARGV[3] key of the mean service time, or ''   ARGV[4] service time of this generation in ms
-- Answer: 1 if there was something to settle.

local settled = settle(ARGV[1], tonumber(ARGV[2]), clock())
if settled == 1 and ARGV[3] ~= '' then
  local mean = redis.call('GET', ARGV[3])
  local sample = tonumber(ARGV[4])
  -- The weight of 0.1 follows a change of load within some twenty generations and forgives a single odd one.
  local updated = mean and (tonumber(mean) * 0.9 + sample * 0.1) or sample
  redis.call('SET', ARGV[3], number(updated), 'PX', 24 * 3600 * 1000)
end
return settled

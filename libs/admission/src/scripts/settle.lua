-- Ends the part of each request in this slot; a second time does nothing.
--   ARGV, for each request: its id; tokens to book, or '' to give everything back;
--         key of the mean service time, or ''; service time of this generation in ms
-- Answer: for each request 1 if there was something to settle.

local at = clock()

local means = {}
local function addToMean(key, sample)
  local mean = means[key] or redis.call('GET', key)
  -- The weight of 0.1 follows a change of load within some twenty generations and forgives a single odd one.
  means[key] = mean and (tonumber(mean) * 0.9 + sample * 0.1) or sample
end

local ids = {}
for index = 1, #ARGV, 4 do ids[#ids + 1] = ARGV[index] end
readRecords(ids)

local answers = {}
for index = 1, #ARGV, 4 do
  local settled = settle(ARGV[index], tonumber(ARGV[index + 1]), at)
  if settled == 1 and ARGV[index + 2] ~= '' then addToMean(ARGV[index + 2], tonumber(ARGV[index + 3])) end
  answers[#answers + 1] = settled
end
writeBook()
for key, mean in pairs(means) do redis.call('SET', key, number(mean), 'PX', 24 * 3600 * 1000) end
return answers

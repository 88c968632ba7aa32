-- Ends requests in their books; a second time does nothing.
--   ARGV, for each request: its id; numbers of its books, as '2 1'; tokens to book, or '' to give everything back;
--         service time of this generation in ms, or '', which goes into the mean of its last book
-- Answer: for each request 1 if there was something to settle.

local means = {}
local function addToMean(key, sample)
  local mean = means[key] or redis.call('GET', key)
  -- The weight of 0.1 follows a change of load within some twenty generations and forgives a single odd one.
  means[key] = mean and (tonumber(mean) * 0.9 + sample * 0.1) or sample
end

local booksOf = namedOf(books)
for index = 1, #ARGV, 4 do
  local theirs = booksOf(ARGV[index + 1])
  for part = 1, #theirs do wantRecord(theirs[part], ARGV[index]) end
end
readRecords()

local answers = {}
for index = 1, #ARGV, 4 do
  local theirs, charge, durationMs = booksOf(ARGV[index + 1]), tonumber(ARGV[index + 2]), ARGV[index + 3]
  local settled = 0
  for part = 1, #theirs do
    if settle(theirs[part], ARGV[index], charge) then
      settled = 1
      if part == #theirs and durationMs ~= '' then addToMean(theirs[part].meanKey, tonumber(durationMs)) end
    end
  end
  answers[#answers + 1] = settled
end
writeBooks()
for key, mean in pairs(means) do redis.call('SET', key, number(mean), 'PX', 24 * 3600 * 1000) end
return answers

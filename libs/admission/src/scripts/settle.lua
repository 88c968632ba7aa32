-- Settles requests in their books. Settling a request again does nothing. One that is to give everything back, and has
-- taken nothing yet, takes nothing later either; nor does one of which a renewal is on its way.
--   ARGV, for each request: its id; numbers of its books, as '2 1'; tokens to book, or '' to give everything back, with
--         a blank at the end if a renewal of it may be on its way; service time of this generation in ms, or '', which
--         goes into the mean of its last book, and of its tenant there where tenants share; as '>60000' where it counts
--         only if it is more than the mean
-- Answer: a packed list, for each request 1 if there was something to settle, else 0

local poolLifeMs = 24 * 3600 * 1000
-- By key: the mean of a pool or of a tenant, how long it is kept, and for a pool its stored share, if any.
local means, livesMs, shares = {}, {}, {}
local function addToMean(key, mean, sample, isLeast, lifeMs)
  if isLeast and mean and sample <= tonumber(mean) then return end
  -- With a weight of 0.1, the mean follows a change of load within about twenty generations and tolerates a single
  -- outlier.
  means[key] = mean and (tonumber(mean) * 0.9 + sample * 0.1) or sample
  livesMs[key] = lifeMs
end

local function addToMeans(book, holds, durationMs)
  local isLeast = string.byte(durationMs) == 62
  local sample = tonumber(isLeast and string.sub(durationMs, 2) or durationMs)
  local key = book.meanKey
  if not means[key] then
    local known = redis.call('MGET', key, bookKey(book, 'busy:unit-share'))
    means[key], shares[key] = known[1], known[2]
  end
  addToMean(key, means[key], sample, isLeast, poolLifeMs)
  -- The second hold of a pool's part is that of the tenant's places.
  local places = holds[2]
  if not shares[key] or not places then return end
  key = tenantMeanKey(places.key)
  addToMean(key, means[key] or redis.call('GET', key), sample, isLeast, shareLifeMs)
end

local booksOf = namedOf(books)
for index = 1, #ARGV, 4 do
  local theirs = booksOf(ARGV[index + 1])
  for part = 1, #theirs do wantRecord(theirs[part], ARGV[index]) end
end
readRecords()

local answers = {}
for index = 1, #ARGV, 4 do
  local theirs, tokens, durationMs = booksOf(ARGV[index + 1]), ARGV[index + 2], ARGV[index + 3]
  local charge, mayBeRenewed = tonumber(tokens), string.byte(tokens, -1) == 32
  local settled = 0
  for part = 1, #theirs do
    local text = theirs[part].records[ARGV[index]]
    local isGivenUp = text == givenUp or not text and charge == nil
    local holds = not isGivenUp and settle(theirs[part], ARGV[index], charge)
    if isGivenUp or mayBeRenewed then giveUp(theirs[part], ARGV[index]) end
    if holds then
      settled = 1
      if part == #theirs and durationMs ~= '' then addToMeans(theirs[part], holds, durationMs) end
    end
  end
  answers[#answers + 1] = settled
end
writeBooks()
for _, book in ipairs(books) do keepGivenUp(book) end
for key, mean in pairs(means) do redis.call('SET', key, number(mean), 'PX', livesMs[key]) end
return cmsgpack.pack(answers)

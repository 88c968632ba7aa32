-- Renews the leases of many requests at once.
--   ARGV[1] lease ms   ARGV[2] ms that a lease of any ingress lasts at most
--   ARGV[3] number of requests of which more output was seen than the last renewal told; then for each, its id and that
--           output
--   then for each group of requests with the same leases: the keys of these as JSON; their amounts, such as '1 1'; the
--           number of requests; their ids
-- A request may have lost its record: it was swept, and charged, while its ingress could not reach Redis, or Redis lost
-- it and it will never be charged. As it is still running it gets its leases back, but no reservation of tokens. One
-- that was given up gets none: it was settled before this renewal came.

local book = books[1]
local leaseMs = tonumber(ARGV[1])
local diesAt = string.format('%.0f', at + leaseMs)

local function leasesOf(keys, amounts)
  local leases, index = cjson.decode(keys), 0
  for amount in string.gmatch(amounts, '%d+') do
    index = index + 1
    leases[index] = { primitive = 'lease', key = leases[index], amount = tonumber(amount) }
  end
  return leases
end

local firstGroup = 4 + 2 * ARGV[3]
for index = 4, firstGroup - 1, 2 do wantRecord(book, ARGV[index]) end
if mayHaveGivenUp(book) then
  local index = firstGroup
  while index < #ARGV do
    local before, count = index + 2, tonumber(ARGV[index + 2])
    for number = 1, count do wantRecord(book, ARGV[before + number]) end
    index = before + count + 1
  end
end
readRecords()
for index = 4, firstGroup - 1, 2 do
  local id, newSeen = ARGV[index], ARGV[index + 1]
  local text = book.records[id]
  if text and text ~= givenUp then
    local input, seen, held = parseRecord(text)
    if seen < tonumber(newSeen) then writeRecord(book, id, input .. ' ' .. newSeen .. ' ' .. held) end
  end
end

-- The requests of a group that were not given up.
local function runningOf(before, count)
  local ids = {}
  for index = before + 1, before + count do
    local id = ARGV[index]
    if book.records[id] ~= givenUp then ids[#ids + 1] = id end
  end
  return ids
end

-- Renews one member of each of these requests. Returns how many were not there.
local function renewMembers(key, suffixed, ids)
  local members = {}
  for index = 1, #ids do
    members[2 * index - 1], members[2 * index] = diesAt, ids[index] .. suffixed
  end
  return callInParts('ZADD', key, members)
end

local function recordLost(leases, ids)
  for _, id in ipairs(ids) do wantRecord(book, id) end
  readRecords()
  local held = '0 0 [] ' .. (#leases > 0 and cjson.encode(leases) or '[]')
  for _, id in ipairs(ids) do
    if not book.records[id] then writeRecord(book, id, held) end
  end
end

local index = firstGroup
while index < #ARGV do
  local leases, before, count = leasesOf(ARGV[index], ARGV[index + 1]), index + 2, tonumber(ARGV[index + 2])
  local ids = runningOf(before, count)
  -- Each open request has a record, so most runs need not look for them.
  if renewMembers(book.openKey, '', ids) > 0 then recordLost(leases, ids) end
  for _, lease in ipairs(leases) do
    for number = 1, lease.amount do renewMembers(lease.key, suffix(number), ids) end
    redis.call('PEXPIRE', lease.key, bookLifeMs)
  end
  index = before + count + 1
end

writeBooks()
if firstGroup < #ARGV then keepBook(book) end
shortenLeases(book, tonumber(ARGV[2]), leaseMs)
sweep(book)

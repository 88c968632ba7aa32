-- Renews the leases of many requests at once.
--   ARGV[1] lease ms   ARGV[2] ms that a lease of any ingress lasts at most
--   ARGV[3] number of requests of which more output was seen than the last renewal told; then for each, its id and that
--           output
--   then for each group of requests with the same leases: the keys of these as JSON; their amounts, such as '1 1'; the
--           number of requests; their ids
-- A request may have lost its record: it was swept, and charged, while its ingress could not reach Redis, or Redis lost
-- it and it will never be charged. As it is still running it gets its leases back, but no reservation of tokens.

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

local told = {}
local firstGroup = 4 + 2 * ARGV[3]
for index = 4, firstGroup - 1, 2 do told[ARGV[index]] = ARGV[index + 1] end

-- Calls `visit` with the index in ARGV before the ids of each group, and with their number.
local function eachGroup(visit)
  local index = firstGroup
  while index < #ARGV do
    local before, count = index + 2, tonumber(ARGV[index + 2])
    visit(before, count)
    index = before + count + 1
  end
end

eachGroup(function(before, count)
  for index = before + 1, before + count do wantRecord(book, ARGV[index]) end
end)
readRecords()

eachGroup(function(before, count)
  local leases = leasesOf(ARGV[before - 2], ARGV[before - 1])
  for index = before + 1, before + count do
    local id = ARGV[index]
    local text, newSeen = book.records[id], told[id]
    if not text then
      writeRecord(book, id, '0 0 [] ' .. (#leases > 0 and cjson.encode(leases) or '[]'))
    elseif newSeen then
      local input, seen, held = parseRecord(text)
      if seen < tonumber(newSeen) then writeRecord(book, id, input .. ' ' .. newSeen .. ' ' .. held) end
    end
    addMember(book.openKey, diesAt, id)
    for _, lease in ipairs(leases) do
      for number = 1, lease.amount do addMember(lease.key, diesAt, id .. suffix(number)) end
    end
  end
  for _, lease in ipairs(leases) do toKeep[#toKeep + 1] = lease.key end
end)

writeBooks()
if firstGroup < #ARGV then keepBook(book) end
shortenLeases(book, tonumber(ARGV[2]), leaseMs)
sweep(book)

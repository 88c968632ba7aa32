-- Renews the leases of many requests at once.
--   ARGV[1] lease ms   ARGV[2] JSON: list of { id, seen, leases: list of { primitive = 'lease', key, amount } }
--   ARGV[3] ms that a lease of any ingress lasts at most
-- A request may have lost its record: it was swept, and charged, while its ingress could not reach Redis, or Redis lost
-- it and it will never be charged. As it is still running it gets its leases back, but no reservation of tokens.

local book = books[1]
local leaseMs = tonumber(ARGV[1])
local diesAt = string.format('%.0f', at + leaseMs)
local tickets = cjson.decode(ARGV[2])

for _, ticket in ipairs(tickets) do wantRecord(book, ticket.id) end
readRecords()

local leaseKeys = {}
for _, ticket in ipairs(tickets) do
  local text = book.records[ticket.id]
  if text then
    local input, seen, held = parseRecord(text)
    if seen < ticket.seen then writeRecord(book, ticket.id, input .. ' ' .. ticket.seen .. ' ' .. held) end
  else
    writeRecord(book, ticket.id, '0 0 [] ' .. (#ticket.leases > 0 and cjson.encode(ticket.leases) or '[]'))
  end
  addMember(book.openKey, diesAt, ticket.id)
  for _, lease in ipairs(ticket.leases) do
    for index = 1, lease.amount do addMember(lease.key, diesAt, ticket.id .. suffix(index)) end
    leaseKeys[lease.key] = true
  end
end

writeBooks()
for key in pairs(leaseKeys) do redis.call('PEXPIRE', key, bookLifeMs) end
if #tickets > 0 then keepBook(book) end
shortenLeases(book, tonumber(ARGV[3]), leaseMs)
sweep(book)
return #tickets

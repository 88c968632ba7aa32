-- Renews the leases of many requests at once.
--   ARGV[1] lease ms   ARGV[2] JSON: list of { id, seen, leases: list of { primitive = 'lease', key, amount } }
-- A request whose record is gone (swept while its ingress could not reach Redis, or lost with Redis) was charged
-- or never will be; it gets its leases back, because it is still running, and nothing that costs tokens.

local leaseMs = tonumber(ARGV[1])
local at = clock()
local tickets = cjson.decode(ARGV[2])

local ids = {}
for index, ticket in ipairs(tickets) do ids[index] = ticket.id end
readRecords(ids)

local leaseKeys = {}
for _, ticket in ipairs(tickets) do
  local text = records[ticket.id]
  if text then
    local input, seen, holds = parseRecord(text)
    if seen < ticket.seen then writeRecord(ticket.id, input, ticket.seen, holds) end
  else
    writeRecord(ticket.id, 0, 0, #ticket.leases > 0 and cjson.encode(ticket.leases) or '[]')
  end
  addMember(KEYS[1], at + leaseMs, ticket.id)
  for _, lease in ipairs(ticket.leases) do
    for index = 1, lease.amount do addMember(lease.key, at + leaseMs, ticket.id .. '#' .. index) end
    leaseKeys[lease.key] = true
  end
end

writeBook()
for key in pairs(leaseKeys) do redis.call('PEXPIRE', key, bookLifeMs) end
if #tickets > 0 then keepBook() end
sweep(at)
return #tickets

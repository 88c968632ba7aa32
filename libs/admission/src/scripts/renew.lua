-- Renews the leases of many requests at once.
--   ARGV[1] lease ms   ARGV[2] JSON: list of { id, seen, leases: list of { primitive = 'lease', key, amount } }
-- A request whose record is gone (swept while its ingress could not reach Redis, or lost with Redis) was charged
-- or never will be; it gets its leases back, because it is still running, and nothing that costs tokens.

local leaseMs = tonumber(ARGV[1])
local at = clock()
local tickets = cjson.decode(ARGV[2])
local byKey = {}

local function renewMember(key, name)
  local members = byKey[key] or {}
  members[#members + 1], members[#members + 2] = at + leaseMs, name
  byKey[key] = members
end

for _, ticket in ipairs(tickets) do
  local text = redis.call('HGET', KEYS[2], ticket.id)
  if text then
    local input, seen, holds = readRecord(text)
    if seen < ticket.seen then writeRecord(ticket.id, input, ticket.seen, holds) end
  else
    writeRecord(ticket.id, 0, 0, #ticket.leases > 0 and cjson.encode(ticket.leases) or '[]')
  end
  renewMember(KEYS[1], ticket.id)
  for _, lease in ipairs(ticket.leases) do
    for _, name in ipairs(leaseMembers(ticket.id, lease.amount)) do renewMember(lease.key, name) end
  end
end

for key, members in pairs(byKey) do
  redis.call('ZADD', key, unpack(members))
  redis.call('PEXPIRE', key, bookLifeMs)
end
if #tickets > 0 then keepBook() end
sweep(at)
return #tickets

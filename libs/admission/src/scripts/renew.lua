-- Renews the leases of many requests at once.
--   ARGV[1] lease ms   ARGV[2] JSON: list of { id, seen, leases: list of { key, amount } }
-- A request whose record is gone (swept while its ingress could not reach Redis, or lost with Redis) was charged
-- or never will be; it gets its leases back, because it is still running, and nothing that costs tokens.

local leaseMs = tonumber(ARGV[1])
local at = clock()
local tickets = cjson.decode(ARGV[2])
for _, ticket in ipairs(tickets) do
  local text = redis.call('HGET', KEYS[2], ticket.id)
  local record = text and cjson.decode(text)
  if record == nil or record == false then
    local holds = {}
    for index, lease in ipairs(ticket.leases) do
      holds[index] = { primitive = 'lease', key = lease.key, amount = lease.amount }
    end
    record = { input = 0, seen = 0, holds = holds, answer = { granted = true, levels = {} } }
    redis.call('HSET', KEYS[2], ticket.id, cjson.encode(record))
  elseif record.seen < ticket.seen then
    record.seen = ticket.seen
    redis.call('HSET', KEYS[2], ticket.id, cjson.encode(record))
  end
  redis.call('ZADD', KEYS[1], at + leaseMs, ticket.id)
  for _, lease in ipairs(ticket.leases) do takeLease(lease.key, ticket.id, lease.amount, at, leaseMs) end
end
if #tickets > 0 then keepBook() end
sweep(at)
return #tickets

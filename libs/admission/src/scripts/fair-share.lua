-- How much of a pool each tenant may have while some wait, included before reserve.lua: as many slots as all can have
-- and nobody needs to leave free (max-min fairness), at the pace of the tenant's own generations.
-- Of a book, written only while somebody waits in its pool:
--   …busy:tenants   set of the keys under which the places of its tenants are counted
--   …busy:share     'slots at': the share, and the instant in ms at which it was measured
-- and `tenantMeanKey` of each of these tenants, see ledger.lua.

-- So long a share is used: to measure it costs a look at each tenant.
local shareAgeMs = 100
-- Of more tenants a sample stands for all, so that Redis is never held up by many.
local mostTenants = 256

local function measureShare(tenantsKey, slots)
  local keys = redis.call('SRANDMEMBER', tenantsKey, mostTenants)
  local places, gone = {}, {}
  for _, key in ipairs(keys) do
    local count = leaseCount(key)
    if count > 0 then places[#places + 1] = count else gone[#gone + 1] = key end
  end
  local left = slots
  if #keys == mostTenants then left = slots * mostTenants / redis.call('SCARD', tenantsKey) end
  if #gone > 0 then redis.call('SREM', tenantsKey, unpack(gone)) end
  table.sort(places)
  for index = 1, #places do
    local even = left / (#places - index + 1)
    if places[index] >= even then return even end
    left = left - places[index]
  end
  return slots
end

-- The share of a pool in slots. `known` is what its key held.
local function shareOf(book, slots, known)
  local share, since = string.match(known or '', '^(%S+) (%S+)$')
  local ageMs = since and at - since
  if ageMs and ageMs >= 0 and ageMs < shareAgeMs then return tonumber(share) end
  share = measureShare(slotKey(book, 'busy:tenants'), slots)
  redis.call('SET', slotKey(book, 'busy:share'), number(share) .. ' ' .. now, 'PX', shareLifeMs)
  return share
end

-- Remembers who was let in while somebody waits.
local function rememberTenants(pool)
  local keys = {}
  for key, tenant in pairs(pool.tenants) do
    if tenant.hasEntered then keys[#keys + 1] = key end
  end
  if #keys == 0 then return end
  local tenantsKey = slotKey(pool.book, 'busy:tenants')
  callInParts('SADD', tenantsKey, keys)
  redis.call('PEXPIRE', tenantsKey, bookLifeMs)
end

-- The most places that a tenant may have before it asks for more, so that its turn comes within the wait budget and
-- one of its own generations.
local function placesOf(share, waitBudgetMs, meanMs)
  return math.floor(share * (1 + waitBudgetMs / meanMs))
end

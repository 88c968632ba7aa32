-- How much of a pool each tenant may have while requests wait: its share of the slots by weighted max-min fairness, at
-- the pace of the tenant's own generations. Included before reserve.lua. Keys of a book that are written only while
-- requests wait in its pool:
--   …busy:tenants      set of the keys under which the places of its tenants are counted
--   …busy:weights      hash from such a key to the weight of its tenant, without those of weight 1
--   …busy:unit-share   'slots at': the share of a tenant of weight 1, and the time in ms at which it was measured
--   …busy:turn         'key places': a tenant without a place that found none free, and how many are kept for it
-- and the `tenantMeanKey` of each of these tenants, see ledger.lua.

-- How long a measured share is used, because measuring it takes a look at each tenant.
local shareAgeMs = 100
-- Of more tenants than this, a sample stands for all, so that many tenants do not hold up Redis.
local mostTenants = 256

-- A share that limits no tenant, whatever its weight.
local boundless = 1e9

-- Returns the tenants that have places in a pool, each with its places and weight, and the sum of the weights. Tenants
-- that have no places any more are forgotten.
local function tenantsOf(keys, tenantsKey, weightsKey)
  local tenants, gone, weights = {}, {}, 0
  local known = #keys > 0 and redis.call('HMGET', weightsKey, unpack(keys)) or {}
  for index, key in ipairs(keys) do
    local places, weight = leaseCount(key), tonumber(known[index] or 1)
    if places > 0 then
      tenants[#tenants + 1] = { places = places, weight = weight }
      weights = weights + weight
    else
      gone[#gone + 1] = key
    end
  end
  if #gone > 0 then
    redis.call('SREM', tenantsKey, unpack(gone))
    redis.call('HDEL', weightsKey, unpack(gone))
  end
  return tenants, weights
end

local function measureUnitShare(book, slots)
  local tenantsKey = bookKey(book, 'busy:tenants')
  local keys = redis.call('SRANDMEMBER', tenantsKey, mostTenants)
  local left = slots
  if #keys == mostTenants then left = slots * mostTenants / redis.call('SCARD', tenantsKey) end
  local tenants, weights = tenantsOf(keys, tenantsKey, bookKey(book, 'busy:weights'))
  table.sort(tenants, function(one, other) return one.places * other.weight < other.places * one.weight end)
  for _, tenant in ipairs(tenants) do
    local unit = left / weights
    if tenant.places >= unit * tenant.weight then return unit end
    left, weights = left - tenant.places, weights - tenant.weight
  end
  return boundless
end

-- The share of a tenant of weight 1, in slots. `known` is the stored share, if any.
local function unitShareOf(book, slots, known)
  local share, since = string.match(known or '', '^(%S+) (%S+)$')
  local ageMs = since and at - since
  if ageMs and ageMs >= 0 and ageMs < shareAgeMs then return tonumber(share) end
  share = measureUnitShare(book, slots)
  redis.call('SET', bookKey(book, 'busy:unit-share'), number(share) .. ' ' .. now, 'PX', shareLifeMs)
  return share
end

-- A tenant's share of a pool in slots: all of them if nobody waits.
local function shareOf(unitShare, weight, slots)
  return unitShare and math.min(slots, unitShare * weight) or slots
end

-- Remembers the tenants that were admitted while requests wait, with their current weights.
local function rememberTenants(pool)
  local keys, weights, usual = {}, {}, {}
  for key, tenant in pairs(pool.tenants) do
    if tenant.hasEntered then
      keys[#keys + 1] = key
      if tenant.weight == 1 then
        usual[#usual + 1] = key
      else
        weights[#weights + 1], weights[#weights + 2] = key, number(tenant.weight)
      end
    end
  end
  if #keys == 0 then return end
  local tenantsKey, weightsKey = bookKey(pool.book, 'busy:tenants'), bookKey(pool.book, 'busy:weights')
  callInParts('SADD', tenantsKey, keys)
  redis.call('PEXPIRE', tenantsKey, bookLifeMs)
  if #usual > 0 then callInParts('HDEL', weightsKey, usual) end
  if #weights == 0 then return end
  callInParts('HSET', weightsKey, weights)
  redis.call('PEXPIRE', weightsKey, bookLifeMs)
end

-- As long as a refused client is told to wait at most.
local turnLifeMs = 60 * 1000

-- The tenant whose turn it is in a full pool. Of more tenants than there are places, those that have one would keep it
-- for ever otherwise: who has just got an answer asks again before those that were told to wait.
local function turnOf(pool)
  if pool.turn == nil then
    local text = redis.call('GET', bookKey(pool.book, 'busy:turn'))
    local key, places = string.match(text or '', '^(%S+) (%d+)$')
    pool.turn = key and { key = key, places = tonumber(places) } or false
  end
  return pool.turn
end

-- How many free places are not for this tenant.
local function keptFrom(pool, key)
  local turn = turnOf(pool)
  return turn and turn.key ~= key and turn.places or 0
end

local function setTurn(pool, turn)
  pool.turn, pool.isTurnNew = turn, true
end

local function writeTurn(pool)
  if not pool.isTurnNew then return end
  local key, turn = bookKey(pool.book, 'busy:turn'), pool.turn
  if turn then redis.call('SET', key, turn.key .. ' ' .. turn.places, 'PX', turnLifeMs) else redis.call('DEL', key) end
end

-- The most places that a tenant may already have when it asks for more, so that its turn comes within the wait budget
-- plus one of its own generations.
local function placesOf(share, waitBudgetMs, meanMs)
  return math.floor(share * (1 + waitBudgetMs / meanMs))
end

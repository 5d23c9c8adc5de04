/** Where the last events of cache channels are. `forgetCached` takes an app and a topic. */
export const FORGET_CACHED = `
local kb, KN, KB, KT = P .. 'kb', P .. 'KN', P .. 'KB', P .. 'KT'
local function forgetCached(app, one)
  local bytes = tonumber(call('HGET', kb, one) or '0')
  call('DEL', P .. 'K:' .. one, P .. 'KV:' .. one)
  call('HDEL', kb, one)
  if call('ZREM', P .. 'k:' .. app, one) == 0 then return end
  -- Not -bytes: Lua prints -0, which is no integer for Redis.
  if tonumber(call('ZINCRBY', KN, -1, app)) <= 0 then call('ZREM', KN, app) call('ZREM', KB, app)
  else call('ZINCRBY', KB, 0 - bytes, app) end
  call('HINCRBY', KT, 'b', 0 - bytes)
end
`;

/**
 * Makes room for what is remembered. It needs `FORGET_CACHED`. `roomFor` takes an app, a topic, how many events and bytes are added,
 * and the limits of the partition; it returns false if there is no room. The topic itself is not forgotten for it.
 */
export const CACHE_ROOM = `
local function forgetExpired(app)
  for _, one in ipairs(call('ZRANGEBYSCORE', P .. 'k:' .. app, '-inf', nowMs(), 'LIMIT', 0, 20)) do forgetCached(app, one) end
end
-- Forgets events until there is room; false if there is none. The rule is that of FairBudget: the app with most loses its
-- oldest event, unless it would then have less than this app.
local function makeRoom(app, topic, amounts, limit, amount, total)
  while true do
    local missing = total() + amount - limit
    if missing <= 0 then return true end
    local largest, yielding = call('ZREVRANGE', amounts, 0, 0, 'WITHSCORES'), app
    local own = tonumber(call('ZSCORE', amounts, app) or '0')
    if largest[1] and tonumber(largest[2]) - missing >= own + amount then yielding = largest[1] end
    local oldest = call('ZRANGE', P .. 'k:' .. yielding, 0, 1)
    local one = oldest[1] == topic and oldest[2] or oldest[1]
    if not one or one == topic then return false end
    forgetCached(yielding, one)
  end
end
local function roomFor(app, topic, events, bytes, eventsMax, bytesMax)
  forgetExpired(app)
  local other = call('ZRANDMEMBER', KN)
  if other then forgetExpired(other) end
  return makeRoom(app, topic, KN, eventsMax, events, function() return call('HLEN', kb) end)
    and makeRoom(app, topic, KB, bytesMax, bytes, function() return tonumber(call('HGET', KT, 'b') or '0') end)
end
local function noteCached(app, topic, expiresAt, bytes)
  call('ZADD', P .. 'k:' .. app, expiresAt, topic)
  call('HINCRBY', kb, topic, bytes)
  call('ZINCRBY', KB, bytes, app)
  call('HINCRBY', KT, 'b', bytes)
end
`;

/**
 * Notes that the producer of a value should stop. `stopValue` takes the topic and the id of the value. It returns the length of the
 * value, or nothing if it does not grow.
 */
export const STOP_VALUE = `
local function stopValue(topic, id)
  local K = P .. 'K:' .. topic
  local head = call('HMGET', K, 'v', 'e', 'q', 'l')
  if head[1] ~= id or head[3] == 'e' or tonumber(head[2]) <= nowMs() then return nil end
  call('HSET', K, 's', '1')
  return head[4]
end
`;

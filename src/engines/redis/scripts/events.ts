import { script } from './script.ts';

/**
 * Publishes an event and remembers it for a cache channel. Arguments: node, epoch, topic, message; to remember it also app,
 * name, data, its lifetime in milliseconds, and how many events and bytes the partition may hold.
 *
 * Of a topic that nobody holds the event has no number: after a loss of data its holders may not have stated it yet.
 */
export const PUBLISH = script(`
local topic = ARGV[3]
local refused = refusal(ARGV[1], ARGV[2])
if refused then return {refused} end
local kb, KN, KB, KT = P .. 'kb', P .. 'KN', P .. 'KB', P .. 'KT'
local function forget(app, one)
  local bytes = tonumber(call('HGET', kb, one) or '0')
  call('DEL', P .. 'K:' .. one)
  call('HDEL', kb, one)
  if call('ZREM', P .. 'k:' .. app, one) == 0 then return end
  -- Not -bytes: Lua prints -0, which is no integer for Redis.
  if tonumber(call('ZINCRBY', KN, -1, app)) <= 0 then call('ZREM', KN, app) call('ZREM', KB, app)
  else call('ZINCRBY', KB, 0 - bytes, app) end
  call('HINCRBY', KT, 'b', 0 - bytes)
end
local function forgetExpired(app)
  for _, one in ipairs(call('ZRANGEBYSCORE', P .. 'k:' .. app, '-inf', nowMs(), 'LIMIT', 0, 20)) do forget(app, one) end
end
-- Forgets events until there is room; false if there is none. The rule is that of FairBudget: the app with most loses its
-- oldest event, unless it would then have less than this app.
local function makeRoom(app, amounts, limit, amount, total)
  while true do
    local missing = total() + amount - limit
    if missing <= 0 then return true end
    local largest, yielding = call('ZREVRANGE', amounts, 0, 0, 'WITHSCORES'), app
    local own = tonumber(call('ZSCORE', amounts, app) or '0')
    if largest[1] and tonumber(largest[2]) - missing >= own + amount then yielding = largest[1] end
    local oldest = call('ZRANGE', P .. 'k:' .. yielding, 0, 0)[1]
    if not oldest then return false end
    forget(yielding, oldest)
  end
end
local T = P .. 'T:' .. topic
if ARGV[5] then
  local app, name, data, ttl, eventsMax, bytesMax = ARGV[5], ARGV[6], ARGV[7], tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
  local bytes = #data
  forget(app, topic)
  forgetExpired(app)
  local other = call('ZRANDMEMBER', KN)
  if other then forgetExpired(other) end
  if makeRoom(app, KN, eventsMax, 1, function() return call('HLEN', kb) end)
    and makeRoom(app, KB, bytesMax, bytes, function() return tonumber(call('HGET', KT, 'b') or '0') end) then
    local expiresAt = nowMs() + ttl
    call('HSET', P .. 'K:' .. topic, 'x', text(expiresAt), 'n', name, 'd', data)
    call('PEXPIRE', P .. 'K:' .. topic, ttl)
    call('ZADD', P .. 'k:' .. app, expiresAt, topic)
    call('HSET', kb, topic, bytes)
    call('ZINCRBY', KN, 1, app)
    call('ZINCRBY', KB, bytes, app)
    call('HINCRBY', KT, 'b', bytes)
  end
  call('HDEL', T, 'm')
end
publish(topic, call('EXISTS', T) == 1 and step(topic) or '0', ARGV[4])
return {'ok'}
`);

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
local kb, KN, KB = P .. 'kb', P .. 'KN', P .. 'KB'
local function forget(app, one)
  local bytes = tonumber(call('HGET', kb, one) or '0')
  call('DEL', P .. 'K:' .. one)
  call('HDEL', kb, one)
  if call('ZREM', P .. 'k:' .. app, one) == 0 then return end
  if tonumber(call('ZINCRBY', KN, -1, app)) <= 0 then call('ZREM', KN, app) call('ZREM', KB, app)
  else call('ZINCRBY', KB, -bytes, app) end
  call('HINCRBY', P .. 'KT', 'b', -bytes)
end
local function forgetExpired(app)
  for _, one in ipairs(call('ZRANGEBYSCORE', P .. 'k:' .. app, '-inf', nowMs(), 'LIMIT', 0, 20)) do forget(app, one) end
end
local T = P .. 'T:' .. topic
if ARGV[5] then
  local app, name, data, ttl, eventsMax, bytesMax = ARGV[5], ARGV[6], ARGV[7], tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
  forget(app, topic)
  forgetExpired(app)
  local other = call('ZRANDMEMBER', KN)
  if other then forgetExpired(other) end
  local bytes = #data
  -- At a limit, the app with the most loses its oldest event.
  local function tooMuch(key, limit, add)
    if key == KN then return call('HLEN', kb) + add > limit end
    return tonumber(call('HGET', P .. 'KT', 'b') or '0') + add > limit
  end
  for _, limit in ipairs({{KN, eventsMax, 1}, {KB, bytesMax, bytes}}) do
    while bytes <= bytesMax and tooMuch(limit[1], limit[2], limit[3]) do
      local largest = call('ZREVRANGE', limit[1], 0, 0)[1]
      if not largest then break end
      forget(largest, call('ZRANGE', P .. 'k:' .. largest, 0, 0)[1])
    end
  end
  if bytes <= bytesMax then
    local expiresAt = nowMs() + ttl
    call('HSET', P .. 'K:' .. topic, 'x', text(expiresAt), 'n', name, 'd', data)
    call('PEXPIRE', P .. 'K:' .. topic, ttl)
    call('ZADD', P .. 'k:' .. app, expiresAt, topic)
    call('HSET', kb, topic, bytes)
    call('ZINCRBY', KN, 1, app)
    call('ZINCRBY', KB, bytes, app)
    call('HINCRBY', P .. 'KT', 'b', bytes)
  end
  call('HDEL', T, 'm')
end
publish(topic, call('EXISTS', T) == 1 and step(topic) or '0', ARGV[4])
return {'ok'}
`);

import { CACHE_ROOM, FORGET_CACHED, STOP_VALUE } from './cached-events.ts';
import { SEND_EVENT } from './events.ts';
import { HISTORIES, KEEP_EVENT } from './histories.ts';
import { KEEP_RECENT } from './recent-events.ts';
import { script } from './script.ts';

/**
 * Adds a piece to a value, and publishes it. The rules are those of `placePiece`. Arguments: node, epoch, topic, app, the lifetime of
 * the value in milliseconds; how many events and bytes the partition may hold; how many bytes the value may have as UTF-8, and in
 * a frame; the id of the value, the name of the event; where the piece goes, its UTF-16 units, its bytes as UTF-8, its text as
 * it stands in a frame; `1` if it is the last one; its message; what `historyToKeep` has written or nothing, and the message of the
 * whole value before and after its text.
 *
 * The text is appended to a string of its own: a piece takes as long at the end of a long value as at its beginning. Only lengths are
 * known here in UTF-16 units, so a piece of which a part is there already is cut by the caller, who asks again.
 *
 * Returns the result as `AppendOutcome` names it, or `overlap`; the length of the value, or the id of the other value; `1` if its
 * producer should stop; the id of the last piece or nothing; and how many events of histories were forgotten.
 */
export const APPEND =
  script(`${HISTORIES}${KEEP_EVENT}${FORGET_CACHED}${CACHE_ROOM}${KEEP_RECENT}${SEND_EVENT}
local topic, app, ttl, eventsMax, bytesMax = ARGV[3], ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local id, at, units, bytes, piece, isLast = ARGV[10], tonumber(ARGV[12]), tonumber(ARGV[13]), tonumber(ARGV[14]), ARGV[15], ARGV[16] == '1'
local refused = refusal(ARGV[1], ARGV[2])
if refused then return {refused} end
local K, V, now = P .. 'K:' .. topic, P .. 'KV:' .. topic, nowMs()
local head = call('HMGET', K, 'v', 'e', 'l', 'y', 'q', 's', 'i', 'z')
if not head[1] or tonumber(head[2]) <= now then head = {} end
local length, size, stop = tonumber(head[3] or '0'), 0, head[1] == id and head[6] == '1' and '1' or ''
if at > 0 then
  if not head[1] then return {'ok', 'unknown'} end
  if head[1] ~= id then return {'ok', 'replaced', head[1]} end
  local last = at + units
  local isRepeated = {'ok', 'repeated', text(length), stop, head[7] or ''}
  if head[5] == 'e' then
    if isLast and last == length then return isRepeated end
    return {'ok', 'ended'}
  end
  if at > length then return {'ok', 'ahead', text(length)} end
  if at < length then
    if last > length or isLast and last == length then return {'ok', 'overlap', text(length)} end
    return isRepeated
  end
  bytes, size = bytes + tonumber(head[4]), tonumber(head[8])
end
size = size + #piece
if bytes > tonumber(ARGV[8]) or size > tonumber(ARGV[9]) then return {'ok', 'too-large'} end
if at == 0 then
  length = 0
  forgetCached(app, topic)
  if not roomFor(app, topic, 1, #piece, eventsMax, bytesMax) then return {'ok', 'no-room'} end
  call('ZINCRBY', KN, 1, app)
  call('HDEL', P .. 'T:' .. topic, 'm')
elseif tonumber(call('HGET', KT, 'b') or '0') + #piece > bytesMax and not roomFor(app, topic, 0, #piece, eventsMax, bytesMax) then
  return {'ok', 'no-room'}
end
length = length + units
-- The newest of its app now.
noteCached(app, topic, now + ttl, #piece)
-- Not named as in other events: servers of earlier releases would send their clients a part as the whole.
call('HSET', K, 'v', id, 'n', ARGV[11], 'e', text(now + ttl), 'l', text(length), 'y', text(bytes), 'z', text(size), 'q', isLast and 'e' or '', 's', stop)
call('APPEND', V, piece)
call('PEXPIRE', K, ttl)
call('PEXPIRE', V, ttl)
local message, eventId = ARGV[17], ''
if isLast and ARGV[18] ~= '' then
  eventId = keepEvent(topic, app, ARGV[19] .. call('GET', V) .. ARGV[20], ARGV[18])
  if eventId ~= '' then
    call('HSET', K, 'i', eventId)
    message = string.sub(message, 1, -2) .. ',"id":"' .. eventId .. '"}'
  end
end
if isLast or units > 0 then sendEvent(topic, message) end
return {'ok', 'sent', text(length), stop, eventId, forgotten}
`);

/**
 * Notes that the producer of a value should stop. Arguments: node, epoch, topic, the id of the value. Returns as `APPEND` does.
 */
export const STOP = script(`${STOP_VALUE}
local refused = refusal(ARGV[1], ARGV[2])
if refused then return {refused} end
local length = stopValue(ARGV[3], ARGV[4])
if not length then return {'ok', 'unknown'} end
return {'ok', 'sent', length, '1', ''}
`);

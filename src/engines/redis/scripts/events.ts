import { CACHE_ROOM, FORGET_CACHED, STOP_VALUE } from './cached-events.ts';
import { HISTORIES, KEEP_EVENT } from './histories.ts';
import { PUBLISHED_ONCE } from './published-once.ts';
import { CHUNK_BYTES, KEEP_RECENT } from './recent-events.ts';
import { leanScript, script } from './script.ts';

/** Numbers begin with the time in microseconds: until 2286, all have as many digits. */
export const NUMBER_DIGITS = 16;

/**
 * Publishes many events of which nothing is remembered but the recent ones. Arguments: for each group of events of one app in one
 * partition the prefix of its keys, the app, and their number; then for each of them the key of the topic, the stream, what is
 * kept before the published text (see `KEEP_RECENT`), and the message.
 *
 * A node needs no lease for it: as in `PUBLISH`, an event of a topic that nobody holds is numbered by the time.
 */
export const EVENTS = leanScript(`${KEEP_RECENT}
local format, concat = string.format, table.concat
local kept, oldNodes, at, unheld = {}, {}, 1, nil
while at < #ARGV do
  oldNodes[#oldNodes + 1] = ARGV[at] .. 'GO'
  at = at + 3 + 4 * ARGV[at + 2]
end
local hasOldNodes = call('EXISTS', unpack(oldNodes)) > 0
at = 1
while at < #ARGV do
  P = ARGV[at]
  local app, last = ARGV[at + 1], at + 2 + 4 * ARGV[at + 2]
  local isKeptForOld = hasOldNodes and call('EXISTS', P .. 'GO') == 1
  local n, bytes = 0, 0
  for i = at + 3, last, 4 do
    local T = ARGV[i]
    local number = call('HINCRBY', T, '!', 1)
    if number < 1e${NUMBER_DIGITS - 1} then
      -- There was none.
      call('HDEL', T, '!')
      if unheld then unheld = unheld + 1
      else
        local t = call('TIME')
        unheld = t[1] * 1000000 + t[2]
      end
      number = unheld
    end
    local published = format('%d', number) .. ARGV[i + 3]
    call('PUBLISH', ARGV[i + 1], published)
    kept[n + 1], kept[n + 2] = ARGV[i + 2], published
    n, bytes = n + 2, bytes + #published
    if bytes >= ${CHUNK_BYTES} or i + 4 > last then
      keepRecent(app, concat(kept, '', 1, n), isKeptForOld)
      n, bytes = 0, 0
    end
  end
  at = last + 1
end
return 'OK'
`);

/**
 * Numbers the message of an event, and publishes it. `sendEvent` returns how many processes follow the topic. It needs `KEEP_RECENT`.
 *
 * Holders of a topic may have been swept while they could not reach Redis, or may not have stated it again after a loss of
 * data. So an event of a topic that nobody holds is published and kept too, numbered by the time.
 */
export const SEND_EVENT = `
local function sendEvent(topic, message)
  local T = P .. 'T:' .. topic
  -- One call for both: T counts twice.
  local found = call('EXISTS', T, T, P .. 'GO')
  local seq = found >= 2 and step(topic) or base()
  local published = seq .. message
  local loops = call('PUBLISH', streams .. topic, published)
  keepRecent(ownerOf(topic), #topic .. ':' .. #published .. ':' .. topic .. published, found % 2 == 1)
  return loops
end
`;

/**
 * Publishes an event, keeps it in the history of its channel and remembers it for a cache channel. Arguments: node, epoch, topic,
 * message, what `historyToKeep` has written or nothing, the idempotency key or nothing; to remember it also app, name, data, its
 * lifetime in milliseconds, and how many events and bytes the partition may hold, or else six times nothing; and the id of the value
 * that should stop. Returns the id in the history or nothing, how many events were forgotten, and how many processes follow the
 * topic.
 */
export const PUBLISH =
  script(`${HISTORIES}${KEEP_EVENT}${PUBLISHED_ONCE}${FORGET_CACHED}${CACHE_ROOM}${STOP_VALUE}${KEEP_RECENT}${SEND_EVENT}
local topic, message, id = ARGV[3], ARGV[4], ''
local refused = refusal(ARGV[1], ARGV[2])
if refused then return {refused} end
local T, once = P .. 'T:' .. topic, ARGV[6] ~= '' and topic .. ' ' .. ARGV[6]
if once then
  local known = publishedId(once)
  if known then return {'ok', known, forgotten, 0} end
end
if ARGV[5] ~= '' then id, message = keepEvent(topic, ownerOf(topic), message, ARGV[5]) end
if (ARGV[7] or '') ~= '' then
  local app, name, data, ttl, eventsMax, bytesMax = ARGV[7], ARGV[8], ARGV[9], tonumber(ARGV[10]), tonumber(ARGV[11]), tonumber(ARGV[12])
  local bytes = #data
  forgetCached(app, topic)
  if roomFor(app, topic, 1, bytes, eventsMax, bytesMax) then
    local expiresAt = nowMs() + ttl
    call('HSET', P .. 'K:' .. topic, 'x', text(expiresAt), 'n', name, 'd', data, 'i', id)
    call('PEXPIRE', P .. 'K:' .. topic, ttl)
    call('ZINCRBY', KN, 1, app)
    noteCached(app, topic, expiresAt, bytes)
  end
  call('HDEL', T, 'm')
end
if ARGV[13] then stopValue(topic, ARGV[13]) end
local loops = sendEvent(topic, message)
if once then notePublished(ownerOf(topic), once, id) end
return {'ok', id, forgotten, loops}
`);

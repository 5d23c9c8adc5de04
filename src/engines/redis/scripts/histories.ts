import { PARTITIONS } from '../../partition.ts';
import { REMEMBERED_MAX } from '../../remembered.ts';
import { FORGET_CACHED } from './cached-events.ts';
import { script } from './script.ts';

/** What an event takes beside its text. Bytes. */
const EVENT_BYTES = 200;
/** Events that one call forgets of a channel because they are too old or too many, so that no script runs for long. */
const FORGOTTEN_MAX = 500;
/** Events that one call reads at once. */
const PAGE_EVENTS = 50;
/** Empty histories of channels without subscribers in one partition, and how long each is remembered. */
const IDLE_MAX = Math.ceil(REMEMBERED_MAX.items / PARTITIONS);
const IDLE_MS = 3_600_000;

/**
 * What scripts share that use histories. They must begin with it.
 *
 * An event in `HL` is its id, its time in milliseconds and the text of its message, each on a line.
 *
 * Histories are kept under the rules of their app (`HR`). A node with other rules neither keeps events nor reads them, and
 * what it publishes makes the app's histories begin anew, because the event is missing in them. They also begin anew when
 * Redis is another process than before, because its last moments may be lost.
 */
export const HISTORIES = `
local HB, HE, HC = P .. 'HB', P .. 'HE', P .. 'HC'
-- Events that were forgotten: too old, too many in their channel, too many bytes in their channel, app, partition.
local forgotten = {0, 0, 0, 0, 0}
local function isOccupied(topic) return call('EXISTS', P .. 'T:' .. topic) == 1 end
-- Bytes and events of an app are more or fewer.
local function changeAmounts(app, bytes, events)
  call('INCRBY', P .. 'HT', text(bytes))
  call('INCRBY', P .. 'HN', text(events))
  if tonumber(call('ZINCRBY', HB, text(bytes), app)) <= 0 then call('ZREM', HB, app) end
end
local function markUsed(topic, app)
  if call('ZREM', P .. 'HI:' .. app, topic) == 0 then return end
  call('DECR', P .. 'HX')
  if tonumber(call('ZINCRBY', HC, -1, app)) <= 0 then call('ZREM', HC, app) end
end
local function dropHistory(topic, app)
  local bytes, events = tonumber(call('HGET', P .. 'HM:' .. topic, 'y') or '0'), call('LLEN', P .. 'HL:' .. topic)
  call('DEL', P .. 'HM:' .. topic, P .. 'HL:' .. topic)
  call('ZREM', P .. 'HO:' .. app, topic)
  call('ZREM', HE, topic)
  if events > 0 then changeAmounts(app, 0 - bytes, 0 - events) end
  markUsed(topic, app)
end
-- An empty history of a channel without subscribers is remembered for an hour. Of too many, the app with most loses its oldest.
local function noteIdle(topic, app)
  if call('EXISTS', P .. 'HM:' .. topic) == 0 or call('EXISTS', P .. 'HL:' .. topic) == 1 or isOccupied(topic) then return end
  if call('ZADD', P .. 'HI:' .. app, 'NX', nowMs(), topic) == 0 then return end
  call('ZINCRBY', HC, 1, app)
  if call('INCR', P .. 'HX') <= ${IDLE_MAX} then return end
  local most = call('ZREVRANGE', HC, 0, 0)[1]
  dropHistory(call('ZRANGE', P .. 'HI:' .. most, 0, 0)[1], most)
end
historyVacated = function(topic) noteIdle(topic, ownerOf(topic)) end
-- Notes the oldest event of a channel, after it has changed. Another event may be about to be kept.
local function noteOldest(topic, app, isGrowing)
  local oldest = call('LINDEX', P .. 'HL:' .. topic, 0)
  if not oldest then
    call('ZREM', P .. 'HO:' .. app, topic)
    call('ZREM', HE, topic)
    if not isGrowing then noteIdle(topic, app) end
    return
  end
  local timeMs = tonumber(string.match(oldest, '^[^\\n]*\\n(%d+)'))
  call('ZADD', P .. 'HO:' .. app, timeMs, topic)
  call('ZADD', HE, timeMs + 1000 * tonumber(call('HGET', P .. 'HM:' .. topic, 's')), topic)
end
-- Forgets the oldest event of a channel. The caller then calls noteOldest.
local function shift(topic, app, why)
  local event = call('LPOP', P .. 'HL:' .. topic)
  if not event then return false end
  local M, bytes = P .. 'HM:' .. topic, #event + ${EVENT_BYTES}
  call('HSET', M, 'b', string.match(event, '^[^\\n]*'))
  call('HINCRBY', M, 'y', 0 - bytes)
  changeAmounts(app, 0 - bytes, -1)
  forgotten[why] = forgotten[why] + 1
  return true
end
local function expire(topic, app, isGrowing)
  local sinceMs, before = nowMs() - 1000 * tonumber(call('HGET', P .. 'HM:' .. topic, 's')), forgotten[1]
  for _ = 1, ${FORGOTTEN_MAX} do
    local oldest = call('LINDEX', P .. 'HL:' .. topic, 0)
    if not oldest or tonumber(string.match(oldest, '^[^\\n]*\\n(%d+)')) > sinceMs then break end
    shift(topic, app, 1)
  end
  if forgotten[1] > before then noteOldest(topic, app, isGrowing) end
end
-- Opens the history of a channel, and begins one if there is none and a random half is given. Returns whether there is one, and
-- false, 'other rules' if this node has other rules than those under which histories are kept.
local function openHistory(topic, app, rules, half, seconds)
  if call('HGET', P .. 'HR', app) ~= rules then return false, 'other rules' end
  local M = P .. 'HM:' .. topic
  local generation = (call('GET', P .. 'HG') or '0') .. '.' .. (call('HGET', P .. 'HA', app) or '0')
  local found = call('HGET', M, 'g')
  if found == generation then return true end
  if found then dropHistory(topic, app) end
  if not half then return false end
  local before = '0-' .. half
  call('HSET', M, 'g', generation, 'l', 0, 'b', before, 'n', before, 'y', 0, 's', seconds)
  return true
end
`;

/**
 * Keeps an event in the history of its channel. `keepEvent` takes the topic, its app, the message without an id, and what
 * `historyToKeep` has written. It returns the id of the event, and the message with the id in its frame.
 */
export const KEEP_EVENT = `
local function keepEvent(topic, app, message, request)
  local rules, half, begin, seconds, eventsMax, bytesMax, appMax, partitionMax =
    string.match(request, '^(%w+) (%w+) (%w+) (%d+) (%d+) (%d+) (%d+) (%d+)$')
  local isOpen, why = openHistory(topic, app, rules, begin, seconds)
  if not isOpen then
    if why then call('HINCRBY', P .. 'HA', app, 1) end
    return '', message
  end
  local M, L = P .. 'HM:' .. topic, P .. 'HL:' .. topic
  markUsed(topic, app)
  call('HSET', M, 's', seconds)
  expire(topic, app, true)
  local id = text(call('HINCRBY', M, 'l', 1)) .. '-' .. half
  message = string.sub(message, 1, -2) .. ',"id":"' .. id .. '"}'
  local event = id .. '\\n' .. text(nowMs()) .. '\\n' .. message
  local bytes = #event + ${EVENT_BYTES}
  local function holds() return tonumber(call('HGET', M, 'y')) end
  local function shiftOwn(why) for _ = 1, ${FORGOTTEN_MAX} do
    if why == 2 and call('LLEN', L) < tonumber(eventsMax) then return end
    if why == 3 and holds() + bytes <= tonumber(bytesMax) then return end
    if not shift(topic, app, why) then return end
  end end
  local size = call('LLEN', L)
  shiftOwn(2)
  shiftOwn(3)
  if call('LLEN', L) < size then noteOldest(topic, app, true) end
  local function shiftOldest(of, why)
    local oldest = call('ZRANGE', P .. 'HO:' .. of, 0, 0)[1]
    if not oldest then return false end
    shift(oldest, of, why)
    noteOldest(oldest, of, oldest == topic)
    return true
  end
  local function amountOf(one) return tonumber(call('ZSCORE', HB, one) or '0') end
  local function makeRoom()
    if bytes > tonumber(bytesMax) then return false end
    while tonumber(appMax) > 0 and amountOf(app) + bytes > tonumber(appMax) do
      if not shiftOldest(app, 4) then return false end
    end
    -- The rule is that of FairBudget: the app with most yields, unless it would then have less than this app.
    while true do
      local missing = tonumber(call('GET', P .. 'HT') or '0') + bytes - tonumber(partitionMax)
      if missing <= 0 then return true end
      local largest, yielding = call('ZREVRANGE', HB, 0, 0, 'WITHSCORES'), app
      if largest[1] and tonumber(largest[2]) - missing >= amountOf(app) + bytes then yielding = largest[1] end
      if not shiftOldest(yielding, 5) then return false end
    end
  end
  call('HSET', M, 'n', id)
  if makeRoom() then
    changeAmounts(app, bytes, 1)
    call('HINCRBY', M, 'y', bytes)
    if call('RPUSH', L, event) == 1 then noteOldest(topic, app) end
  else
    -- Nothing before an event that is not kept may be kept either.
    forgotten[3] = forgotten[3] + call('LLEN', L)
    local kept = call('HMGET', M, 'g', 'l', 's')
    dropHistory(topic, app)
    call('HSET', M, 'g', kept[1], 'l', kept[2], 'b', id, 'n', id, 'y', 0, 's', kept[3])
    noteIdle(topic, app)
  end
  return id, message
end
`;

/**
 * Finds what a connection gets from the history of a channel that it enters. `enterHistory` takes the topic, what
 * `historyToRead` has written, and the socket id of the connection. It returns nothing, or the newest id, the outcome, and
 * the frames.
 */
export const ENTER_HISTORY = `
local function enterHistory(topic, request, socket)
  local app = ownerOf(topic)
  local rules, begin, seconds, replay, room, after, sockets =
    string.match(request, '^(%w+) (%w+) (%d+) (%d+) (%d+) (%S+) (.*)$')
  local resumes = after ~= 'stock'
  local isOpen, why = openHistory(topic, app, rules, resumes and begin, seconds)
  if not isOpen then
    if why and resumes then return {'', 'unavailable', {}} end
    return {}
  end
  markUsed(topic, app)
  expire(topic, app)
  local M, L = P .. 'HM:' .. topic, P .. 'HL:' .. topic
  local state, size, left = call('HMGET', M, 'n', 'b'), call('LLEN', L), tonumber(room)
  local newest, before, frames = state[1], state[2], {}
  local function read(event) return string.match(event, '^[^\\n]*\\n%d+\\ne([^\\n]*)\\n[^\\n]*\\n(.*)$') end
  if not resumes or after == 'none' then
    local events = tonumber(replay) > 0 and call('LRANGE', L, 0 - tonumber(replay), -1) or {}
    local first = #events + 1
    while first > 1 do
      local _, frame = read(events[first - 1])
      left = left - #frame
      if left < 0 then break end
      first = first - 1
    end
    for n = first, #events do
      local _, frame = read(events[n])
      frames[#frames + 1] = frame
    end
    return {newest, resumes and 'begun' or '', frames}
  end
  local index = 0
  if after ~= before then
    local oldest = call('LINDEX', L, 0)
    local number = tonumber(string.match(after, '^%d+'))
    index = oldest and number and number - tonumber(string.match(oldest, '^%d+')) or -1
    local event = index >= 0 and call('LINDEX', L, index)
    if not event or string.match(event, '^[^\\n]*') ~= after then return {newest, 'forgotten', {}} end
    index = index + 1
  end
  while index < size do
    local page = call('LRANGE', L, index, index + ${PAGE_EVENTS - 1})
    for _, event in ipairs(page) do
      local except, frame = read(event)
      if except == '' or (except ~= socket and not string.find(sockets, ' ' .. except .. ' ', 1, true)) then
        left = left - #frame
        if left < 0 then return {newest, 'too-much', {}} end
        frames[#frames + 1] = frame
      end
    end
    index = index + #page
  end
  return {newest, 'resumed', frames}
end
`;

/** Channels of which one call forgets what is too old, and empty histories that it forgets. */
const SWEPT_MAX = 20;

/** Forgets events that are too old, and empty histories after their hour. `sweepHistories` returns what histories hold. */
export const SWEEP_HISTORIES = `
local function sweepHistories()
  for _, topic in ipairs(call('ZRANGEBYSCORE', HE, '-inf', nowMs(), 'LIMIT', 0, ${SWEPT_MAX})) do
    expire(topic, ownerOf(topic))
  end
  local app = call('ZRANDMEMBER', HC)
  if app then
    for _, topic in ipairs(call('ZRANGEBYSCORE', P .. 'HI:' .. app, '-inf', nowMs() - ${IDLE_MS}, 'LIMIT', 0, ${SWEPT_MAX})) do
      dropHistory(topic, app)
    end
  end
  return {call('GET', P .. 'HN') or '0', call('GET', P .. 'HT') or '0', forgotten}
end
`;

/**
 * Reads events of the history of a channel. Arguments: node, epoch, topic, the rules that the node knows, `before`, `after` or
 * `newest`, the id that belongs to it or nothing, how many, and how many bytes; the random half with which a history begins if
 * there is none, and for how many seconds it keeps events. Returns the newest id, whether more are kept in this direction,
 * whether nothing is missing before the first event, and the events in the order that was asked for.
 */
export const READ_HISTORY = script(`${HISTORIES}
local refused = refusal(ARGV[1], ARGV[2])
if refused then return {refused} end
local topic, order, id, limit, left = ARGV[3], ARGV[5], ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8])
local app, L = ownerOf(topic), P .. 'HL:' .. topic
local isOpen = openHistory(topic, app, ARGV[4], ARGV[9], ARGV[10])
if not isOpen then return {'other rules'} end
expire(topic, app)
noteIdle(topic, app)
local state, size = call('HMGET', P .. 'HM:' .. topic, 'n', 'b'), call('LLEN', L)
-- The number of kept events up to this one; nothing if it is no place.
local function countUpTo(id)
  if id == state[2] then return 0 end
  local oldest = call('LINDEX', L, 0)
  local number = tonumber(string.match(id, '^%d+'))
  local index = oldest and number and number - tonumber(string.match(oldest, '^%d+')) or -1
  local event = index >= 0 and call('LINDEX', L, index)
  if event and string.match(event, '^[^\\n]*') == id then return index + 1 end
end
local index, step, complete = size - 1, -1, 1
if order == 'after' then
  local count = countUpTo(id)
  index, step, complete = count or 0, 1, count and 1 or 0
elseif order == 'before' then index = (countUpTo(id) or 0) - 2 end
local events = {}
while #events < limit and index >= 0 and index < size do
  local first = step > 0 and index or math.max(0, index - ${PAGE_EVENTS - 1})
  local page = call('LRANGE', L, first, first + ${PAGE_EVENTS - 1})
  local at = index - first + 1
  while at >= 1 and at <= #page and #events < limit do
    left = left - #page[at]
    if left < 0 and #events > 0 then break end
    events[#events + 1] = page[at]
    at = at + step
    index = index + step
  end
  if left < 0 then break end
end
return {'ok', state[1], index >= 0 and index < size and 1 or 0, complete, events}
`);

/** Forgets the history of a channel, and the event that a cache channel remembers. Arguments: node, epoch, topic. */
export const FORGET_HISTORY = script(`${HISTORIES}${FORGET_CACHED}
local refused = refusal(ARGV[1], ARGV[2])
if refused then return {refused} end
dropHistory(ARGV[3], ownerOf(ARGV[3]))
forgetCached(ownerOf(ARGV[3]), ARGV[3])
return {'ok'}
`);

/**
 * States the rules for histories that a node knows. Arguments: node, epoch; then for each app with rules its id and a text that
 * changes with the names of channels in its rules. The histories of an app whose rules differ from those before begin anew.
 */
export const RULES = script(`
local refused = refusal(ARGV[1], ARGV[2])
if refused then return {refused} end
local rules, known = {}, call('HGETALL', P .. 'HR')
for i = 3, #ARGV, 2 do rules[ARGV[i]] = ARGV[i + 1] end
for i = 1, #known, 2 do
  local app = known[i]
  if rules[app] == known[i + 1] then rules[app] = nil
  elseif not rules[app] then
    call('HDEL', P .. 'HR', app)
    call('HINCRBY', P .. 'HA', app, 1)
  end
end
for app, names in pairs(rules) do
  call('HSET', P .. 'HR', app, names)
  call('HINCRBY', P .. 'HA', app, 1)
end
return {'ok'}
`);

import { CHANGES } from './changes.ts';
import { ENTER_HISTORY, HISTORIES } from './histories.ts';
import { CHUNK_BYTES, NOTE_OLD_NODES } from './recent-events.ts';
import { LEASE_MS, script } from './script.ts';
import { GONE_MAX, GONE_MS, OWN_GRACE_MS, WEBHOOK_EVENTS } from './webhook-events.ts';

/**
 * Registers a node under a new id. Arguments: node, the epoch to begin if there is none, `1` if the node knows that data
 * were lost, the name of its server, the id of the process of Redis. Returns the epoch.
 */
export const ENTER = script(`${NOTE_OLD_NODES}
call('SET', P .. 'E', ARGV[2], 'NX')
call('ZADD', P .. 'L', nowMs() + ${LEASE_MS}, ARGV[1])
call('HSET', P .. 'V', ARGV[1], 0)
call('HSET', P .. 'J', ARGV[1], ARGV[4])
noteOldNodes()
if call('GET', P .. 'HP') ~= ARGV[5] then
  call('SET', P .. 'HP', ARGV[5])
  call('INCR', P .. 'HG')
  -- It may be older than what was reported since.
  call('DEL', P .. 'WG', P .. 'WR')
end
if ARGV[3] == '1' then call('SET', P .. 'Y', text(nowMs() + ${LEASE_MS})) end
return {'ok', call('GET', P .. 'E')}
`);

/** What scripts share that state what a node holds of a channel. They need `CHANGES`. */
const HOLD_CHANNEL = `
local N, M = P .. 'N:' .. ARGV[1], P .. 'M:' .. ARGV[1]
-- Notes a member of a channel. Returns whether the node did not hold it.
local addMember = function(field) return call('HSETNX', M, field, '1') == 1 end
-- Takes the subscriptions that the node has held and holds; members are the arguments from first to last. Returns the subscriptions
-- of all nodes if they have changed.
local function hold(topic, old, held, flags, again, socket, first, last)
  local total
  -- Members that begin to stay without connections, less those that have stayed. Each counts as a subscription.
  local staying = 0
  if not report and (again or string.find(flags, '[wnm]')) then knowWebhooks() end
  if held > old then total = count(topic, held - old, flags, again) end
  local isReported = has(flags, 'w')
  for i = first, last, 3 do
    local field = topic .. '\\n' .. ARGV[i + 1]
    if ARGV[i] == '-' then
      if call('HDEL', M, field) == 1 then
        if ARGV[i + 2] ~= '' and stay(topic, ARGV[i + 1], tonumber(ARGV[i + 2])) then staying = staying + 1
        else go(topic, ARGV[i + 1], flags) end
      end
    elseif addMember(field) then
      if has(flags, 'g') and call('ZREM', WS, field) == 1 then
        staying = staying - 1
        comeBack(topic, ARGV[i + 1], ARGV[i + 2], flags, socket)
      else come(topic, ARGV[i + 1], ARGV[i + 2], flags, again, socket) end
    end
    if ARGV[i] == '+' and isReported then owe('a' .. field) end
  end
  if held > 0 and isReported then owe('o' .. topic) end
  -- Members go before the last subscription does.
  local change = math.min(0, held - old) + staying
  if change < 0 and held < old then total = count(topic, change, flags, again)
  elseif change ~= 0 then call('HINCRBY', P .. 'T:' .. topic, '#', change) end
  return total
end
`;

/**
 * States what a node holds of a channel. Arguments: node, epoch, topic, subscriptions, flags, mode, most members or 0, socket
 * id of the newcomer, what `historyToRead` has written for it or nothing; then for each member `+` or `-`, user id and info. The info
 * with `-` is for how many milliseconds the member stays unless another node holds it, or nothing.
 *
 * Flags: `w` the app has webhooks, `c` it wants subscription counts, `n` it wants them as webhooks, `k` a cache channel, `m`
 * misses of it are reported, a number: how often per second loops are told of a member, `g` and a number behind that: for how many
 * seconds members stay without connections, at their end `l` and a number: a large channel that shows so many members, with `L` and a
 * number: so many changes are named. Mode: `a` stated again, so nothing is
 * reported, and a number: for how many milliseconds the node was cut off from the data that were lost; `k` the subscriptions stay as they were, because more members follow; `r` return the members as loops know them,
 * `t` return the transitions.
 *
 * Returns `full` and has changed nothing, or: how many statements of the node were applied; the sequence number at which the
 * newcomer enters; milliseconds until something is due; claimed webhook events; the cached event; the members;
 * the transitions: `o` occupied, `v` vacated, `+` or `-` and a user id; what the newcomer gets from the history; how many events
 * of histories were forgotten; the arrivals that the node must ask for by `CLAIM`; of a large channel this flag and the number of members.
 */
export const STATE = script(`${HISTORIES}${ENTER_HISTORY}${CHANGES}${HOLD_CHANNEL}
local node, topic, flags, mode, most = ARGV[1], ARGV[3], ARGV[5], ARGV[6], tonumber(ARGV[7])
local refused = refusal(node, ARGV[2])
if refused then return {refused} end
graceMs = ${OWN_GRACE_MS}
local T, I = P .. 'T:' .. topic, P .. 'I:' .. topic
if most > 0 and ARGV[10] == '+' and call('HEXISTS', I, ARGV[11]) == 0 and call('HLEN', I) >= most then return {'full'} end
local version, again = text(call('HINCRBY', P .. 'V', node, 1)), has(mode, 'a')
flags = asOccupied(topic, flags)
awayMs = tonumber(string.match(mode, '%d+') or '0')
local old = tonumber(call('HGET', N, topic) or '0')
local held = has(mode, 'k') and old or tonumber(ARGV[4])
local total = hold(topic, old, held, flags, again, ARGV[8], 10, #ARGV)
local history = ARGV[9] ~= '' and enterHistory(topic, ARGV[9], ARGV[8]) or {}
local hasEvents = history[2] == 'resumed' or #(history[3] or {}) > 0
local cached, state = {}, call('HMGET', T, '!', 'l')
if state[2] and not has(flags, 'l') then
  flags = flags .. (string.find(flags, '%d') and '' or '0') .. state[2]
  noteInLarge(topic)
end
if held > 0 then
  call('HSET', N, topic, held)
  call('HSET', T, 'f', flags)
  if has(flags, 'k') then
    local event = remembered(topic)
    if event then cached = event
    elseif has(flags, 'm') and ARGV[8] ~= '' and not hasEvents and call('HSETNX', T, 'm', '1') == 1 then report('m', topic) end
  end
elseif old > 0 then call('HDEL', N, topic) end
local seq, isLarge = state[1] or '0', has(flags, 'l')
-- After the number of the newcomer, who gets the count too, also if an earlier statement has counted it.
if total and not again then counted(topic, total, flags)
elseif ARGV[8] ~= '' and (has(flags, 'c') or isLarge) then counted(topic, tonumber(call('HGET', T, '#')), isLarge and flags or 'c') end
local members = has(mode, 'r') and (isLarge and shownMembers(topic, flags) or not isLarge and knownMembers(topic)) or {}
local answer = {'ok', version, seq, dueMs, claims, cached, members, has(mode, 't') and not again and moved or {}, history, forgotten, owed}
if isLarge then answer[12] = {largeIn(flags), text(call('HLEN', I))} end
return answer
`);

/**
 * States again what a node holds of many channels, of each at least one subscription. Arguments: node, epoch; for each channel topic,
 * subscriptions, flags and mode as in `STATE`, the number of members; then for each of those `+`, user id and info.
 *
 * Returns how many statements of the node were applied, all of these as one; nothing; milliseconds until something is due; claimed
 * webhook events; for each channel its sequence number, the members, the transitions, and the arrivals as in `STATE`.
 */
export const STATE_AGAIN = script(`${CHANGES}${HOLD_CHANNEL}
local refused = refusal(ARGV[1], ARGV[2])
if refused then return {refused} end
graceMs, isStatedAgain = ${OWN_GRACE_MS}, true
local version, rows, at = text(call('HINCRBY', P .. 'V', ARGV[1], 1)), {}, 3
-- What all channels need is read, and written, at once.
local topics, departures, holds, fields = {}, {}, {}, {}
while at < #ARGV do
  local topic, last = ARGV[at], at + 4 + 3 * ARGV[at + 4]
  local n = #topics
  topics[n + 1], departures[n + 1] = topic, P .. 'MD:' .. topic
  holds[2 * n + 1], holds[2 * n + 2] = topic, ARGV[at + 1]
  for i = at + 6, last, 3 do fields[#fields + 1] = topic .. '\\n' .. ARGV[i] end
  at = last + 1
end
nobodyDeparts = call('EXISTS', unpack(departures)) == 0
local before, hasOldNodes = call('HMGET', N, unpack(topics)), call('EXISTS', P .. 'GO') == 1
local isHeld, added, apps, kept, occupied = {}, {}, {}, {}, {}
for n, one in ipairs(#fields > 0 and call('HMGET', M, unpack(fields)) or {}) do isHeld[fields[n]] = one end
addMember = function(field)
  if isHeld[field] then return false end
  isHeld[field] = '1'
  added[#added + 1] = field
  added[#added + 1] = '1'
  return true
end
local function ofApp(app)
  if not kept[app] then
    apps[#apps + 1] = app
    kept[app], occupied[app] = {bytes = 0}, {}
  end
  return kept[app], occupied[app]
end
local function keepAll(app)
  keepRecent(app, table.concat(kept[app]), hasOldNodes)
  kept[app] = {bytes = 0}
end
function keepLater(app, text)
  local some = ofApp(app)
  some[#some + 1] = text
  some.bytes = some.bytes + #text
  if some.bytes >= ${CHUNK_BYTES} then keepAll(app) end
end
function occupyLater(app, channel)
  local _, some = ofApp(app)
  some[#some + 1] = channel
end
at = 3
for n, topic in ipairs(topics) do
  local flags, again, mode = ARGV[at + 2], has(ARGV[at + 3], 'a'), ARGV[at + 3]
  local T, last = P .. 'T:' .. topic, at + 4 + 3 * ARGV[at + 4]
  flags = asOccupied(topic, flags)
  moved, owed, awayMs = {}, {}, tonumber(string.match(mode, '%d+') or '0')
  local total = hold(topic, tonumber(before[n] or '0'), tonumber(ARGV[at + 1]), flags, again, '', at + 5, last)
  call('HSET', T, 'f', flags)
  local seq = numbers[T] or call('HGET', T, '!') or '0'
  if total and not again then counted(topic, total, flags) end
  rows[n] = {seq, has(mode, 'r') and not has(flags, 'l') and knownMembers(topic) or {}, has(mode, 't') and not again and moved or {}, owed}
  at = last + 1
end
call('HSET', N, unpack(holds))
if #added > 0 then call('HSET', M, unpack(added)) end
for _, app in ipairs(apps) do
  if kept[app].bytes > 0 then keepAll(app) end
  local channels, scored = occupied[app], {}
  local first = #channels > 0 and call('HINCRBY', P .. 'A', app, #channels) - #channels
  for n, channel in ipairs(channels) do scored[2 * n - 1], scored[2 * n] = first + n, channel end
  if first then call('ZADD', P .. 'C:' .. app, unpack(scored)) end
end
return {'ok', version, '', dueMs, claims, rows}
`);

/**
 * States after a loss of data which departures a node has reported before. Arguments: node, epoch; for each its kind and subject, as in
 * `CLAIM`, and how many milliseconds ago that was.
 */
export const REPORTED = script(`
local refused = refusal(ARGV[1], ARGV[2])
if refused then return {refused} end
local WR = P .. 'WR'
for i = 3, #ARGV, 2 do
  local at, known = nowMs() - ARGV[i + 1], call('HGET', WR, ARGV[i])
  if (known and tonumber(known) < at) or (not known and call('HLEN', WR) < ${GONE_MAX}) then call('HSET', WR, ARGV[i], text(at)) end
end
call('PEXPIRE', WR, ${GONE_MS})
return {'ok'}
`);

/**
 * States departures that Redis has lost before anybody had claimed them, as far as the node knows. Arguments: node, epoch, for how many
 * milliseconds the node was cut off from the data that were lost; for each its kind and subject, as in `CLAIM`, its age in
 * milliseconds, and `1` if the arrival before it was not reported either. Who has come back before this is known has never been away
 * for the webhooks.
 */
export const DEPARTED = script(`${WEBHOOK_EVENTS}
local refused = refusal(ARGV[1], ARGV[2])
if refused then return {refused} end
knowWebhooks()
local function state(name, ageMs, isWhole)
  if wasReported(name, math.max(ageMs, tonumber(ARGV[3]))) then return end
  local kind, subject = string.sub(name, 1, 1), string.sub(name, 2)
  local isMember, arrival = kind == 'r', ({r = 'a', v = 'o', d = 'u'})[kind]
  if not isWhole then cancelArrival(arrival .. subject) end
  local topic, user = string.match(subject, '^([^\\n]*)\\n?(.*)$')
  local isThere = false
  if isMember then isThere = call('HEXISTS', P .. 'U:' .. topic, user) == 1
  else isThere = tonumber(call('HGET', P .. 'T:' .. topic, '#') or '0') > 0 end
  if not isThere and call('HEXISTS', WG, name) == 0 then
    if kind == 'd' then call('SET', P .. 'UL:' .. subject, ' ' .. text(nowMs() - ageMs), 'PX', ${GONE_MS}) end
    -- Another node that has lost this departure knows better whether the arrival was reported.
    if call('ZADD', W, 'NX', nowMs() + ${OWN_GRACE_MS}, name) == 1 and isWhole then holdBack(arrival, subject) end
    local known = tonumber(call('HGET', P .. 'WY', name) or '0')
    noteFor(incompleteMs(), name, text(math.max(known, nowMs() - ageMs)))
  end
end
for i = 4, #ARGV, 3 do state(ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 2] == '1') end
return {'ok'}
`);

import { CHANGES } from './changes.ts';
import { ENTER_HISTORY, HISTORIES } from './histories.ts';
import { NOTE_OLD_NODES } from './recent-events.ts';
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

/**
 * States what a node holds of a channel. Arguments: node, epoch, topic, subscriptions, flags, mode, most members or 0, socket
 * id of the newcomer, what `historyToRead` has written for it or nothing; then for each member `+` or `-`, user id and info.
 *
 * Flags: `w` the app has webhooks, `c` it wants subscription counts, `n` it wants them as webhooks, `k` a cache channel, `m`
 * misses of it are reported, a number: how often per second loops are told of a member. Mode: `a` stated again, so nothing is
 * reported, and a number: for how many milliseconds the node was cut off from the data that were lost; `k` the subscriptions stay as they were, because more members follow; `r` return the members as loops know them,
 * `t` return the transitions.
 *
 * Returns `full` and has changed nothing, or: how many statements of the node were applied; the sequence number at which the
 * newcomer enters; milliseconds until something is due; claimed webhook events; the cached event; the members;
 * the transitions: `o` occupied, `v` vacated, `+` or `-` and a user id; what the newcomer gets from the history; how many events
 * of histories were forgotten; the arrivals that the node must ask for by `CLAIM`.
 */
export const STATE = script(`${HISTORIES}${ENTER_HISTORY}${CHANGES}
local node, topic, held, flags, mode, most = ARGV[1], ARGV[3], tonumber(ARGV[4]), ARGV[5], ARGV[6], tonumber(ARGV[7])
local refused = refusal(node, ARGV[2])
if refused then return {refused} end
graceMs = ${OWN_GRACE_MS}
local T, I, N, M = P .. 'T:' .. topic, P .. 'I:' .. topic, P .. 'N:' .. node, P .. 'M:' .. node
if most > 0 and ARGV[10] == '+' and call('HEXISTS', I, ARGV[11]) == 0 and call('HLEN', I) >= most then return {'full'} end
local version, again = text(call('HINCRBY', P .. 'V', node, 1)), has(mode, 'a')
if again or string.find(flags, '[wnm]') then knowWebhooks() end
awayMs = tonumber(string.match(mode, '%d+') or '0')
local old, total = tonumber(call('HGET', N, topic) or '0'), nil
if has(mode, 'k') then held = old end
if held > old then total = count(topic, held - old, flags, again) end
for i = 10, #ARGV, 3 do
  local field = topic .. '\\n' .. ARGV[i + 1]
  if ARGV[i] == '-' then
    if call('HDEL', M, field) == 1 then go(topic, ARGV[i + 1], flags) end
  elseif call('HSETNX', M, field, '1') == 1 then
    come(topic, ARGV[i + 1], ARGV[i + 2], flags, again, ARGV[8])
  end
end
-- Members go before the last subscription does.
if held < old then total = count(topic, held - old, flags, again) end
local history = ARGV[9] ~= '' and enterHistory(topic, ARGV[9], ARGV[8]) or {}
local hasEvents = history[2] == 'resumed' or #(history[3] or {}) > 0
local cached = {}
if held > 0 then
  call('HSET', N, topic, held)
  call('HSET', T, 'f', flags)
  if has(flags, 'k') then
    local event = remembered(topic)
    if event then cached = event
    elseif has(flags, 'm') and ARGV[8] ~= '' and not hasEvents and call('HSETNX', T, 'm', '1') == 1 then report('m', topic) end
  end
elseif old > 0 then call('HDEL', N, topic) end
local seq = call('HGET', T, '!') or '0'
-- After the number of the newcomer, who gets the count too, also if an earlier statement has counted it.
if total and not again then counted(topic, total, flags)
elseif ARGV[8] ~= '' and has(flags, 'c') then counted(topic, tonumber(call('HGET', T, '#')), 'c') end
return {'ok', version, seq, dueMs, claims, cached, has(mode, 'r') and knownMembers(topic) or {}, has(mode, 't') and not again and moved or {}, history, forgotten, owed}
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
 * milliseconds the node was cut off from the data that were lost; for each its kind and subject, as in `CLAIM`, and its age in
 * milliseconds. Who has come back before this is known has never been away for the webhooks.
 */
export const DEPARTED = script(`${WEBHOOK_EVENTS}
local refused = refusal(ARGV[1], ARGV[2])
if refused then return {refused} end
knowWebhooks()
local function state(name, ageMs)
  if wasReported(name, math.max(ageMs, tonumber(ARGV[3]))) then return end
  local isMember, subject = string.sub(name, 1, 1) == 'r', string.sub(name, 2)
  cancelArrival((isMember and 'a' or 'o') .. subject)
  local topic, user = string.match(subject, '^([^\\n]*)\\n?(.*)$')
  local isThere = false
  if isMember then isThere = call('HEXISTS', P .. 'U:' .. topic, user) == 1
  else isThere = tonumber(call('HGET', P .. 'T:' .. topic, '#') or '0') > 0 end
  if not isThere and call('HEXISTS', WG, name) == 0 then
    call('ZADD', W, 'NX', nowMs() + ${OWN_GRACE_MS}, name)
    noteFor(incompleteMs(), name, text(nowMs() - ageMs))
  end
end
for i = 4, #ARGV, 2 do state(ARGV[i], tonumber(ARGV[i + 1])) end
return {'ok'}
`);

/**
 * States whether a node has connections of a user. Arguments: node, epoch, topic, `1` or `0`. Returns how many statements of
 * the node were applied, the number of the latest change of any user, and when something is due.
 */
export const SIGN = script(`
local node, topic = ARGV[1], ARGV[3]
local refused = refusal(node, ARGV[2])
if refused then return {refused} end
local version, O = text(call('HINCRBY', P .. 'V', node, 1)), P .. 'O:' .. node
if ARGV[4] == '0' then
  if call('HDEL', O, topic) == 1 then signOut(topic) end
elseif call('HSETNX', O, topic, '1') == 1 and call('HINCRBY', P .. 'T:' .. topic, '#', 1) == 1 then
  -- A user who returns in time was never reported offline.
  if call('ZREM', W, 'o' .. topic) == 0 then publish(topic, number(), '+') end
end
return {'ok', version, call('GET', P .. 'S') or '0', dueMs, claims}
`);

/** Ends the connections of a user everywhere. Arguments: node, epoch, topic. */
export const TERMINATE = script(`
local refused = refusal(ARGV[1], ARGV[2])
if refused then return {refused} end
local seq, T = number(), P .. 'T:' .. ARGV[3]
if call('EXISTS', T) == 1 then call('HSET', T, 'x', seq) end
publish(ARGV[3], seq, 'x')
return {'ok'}
`);

import { COMPLETE } from './queries.ts';
import { script } from './script.ts';
import { GRACE_MS, OWN_MS, WEBHOOK_EVENTS } from './webhook-events.ts';

/**
 * The limit of users of one app of whom a partition keeps when they were last seen, so that all partitions keep 100,000; and for how
 * long.
 */
const LAST_SEEN_MAX = 1562;
const LAST_SEEN_MS = 7 * 24 * 3_600_000;

/** The limit of users that one call forgets because their time is over. */
const FORGOTTEN_AT_ONCE = 10;

/** For how many milliseconds it is known of who has gone offline when the last connection ended, for webhooks that are late. */
const GONE_KNOWN_MS = 600_000;

/** What scripts share that take connections away from users. They need `WEBHOOK_EVENTS`. */
export const SIGN_OUT = `
-- For how long users without connections still count as online.
local function offlineMsOf(flags) return tonumber(string.match(flags, '%d+') or '${GRACE_MS}') end
-- Notes when a user was last seen. The oldest give way.
local function noteLastSeen(topic, atMs)
  local app = ownerOf(topic)
  local LS = P .. 'LS:' .. app
  local isNew = call('ZADD', LS, atMs, string.sub(topic, #app + 2)) == 1
  call('PEXPIRE', LS, ${LAST_SEEN_MS})
  if not isNew then return end
  local function forget(users) if #users > 0 then call('ZREM', LS, unpack(users)) end end
  forget(call('ZRANGEBYSCORE', LS, '-inf', nowMs() - ${LAST_SEEN_MS}, 'LIMIT', 0, ${FORGOTTEN_AT_ONCE}))
  local over = call('ZCARD', LS) - ${LAST_SEEN_MAX}
  if over > 0 then forget(call('ZRANGE', LS, 0, over - 1)) end
end
-- How much more than others the node has to ask for the event that it has stated.
local ownMs = 0
-- One node fewer has connections of a user, of which the last ended at this time. Counts as offline after the delay.
local function signOut(topic, flags, endedMs, delay)
  local T = P .. 'T:' .. topic
  if call('HINCRBY', T, '#', -1) > 0 then return end
  local since = call('HGET', T, 's')
  call('DEL', T)
  later('o' .. topic, delay)
  call('SET', P .. 'UL:' .. topic, (since or '') .. ' ' .. text(endedMs), 'PX', delay + ${GONE_KNOWN_MS})
  noteLastSeen(topic, endedMs)
  if not has(flags, 'w') then return end
  local normalMs = graceMs
  graceMs = delay + ownMs
  leave('d' .. topic)
  graceMs = normalMs
end
`;

/**
 * States whether a node has connections of a user. Arguments: node, epoch, topic, `1` or `0`, flags, mode; if the app limits the
 * connections, how many; for one more, the limit.
 *
 * Flags: `w` webhooks of the app want to know who is online; a number: for how many milliseconds users without connections still count
 * as online, unless it is the usual. Mode: nothing, or after a loss of data for how many milliseconds the node has had connections of the
 * user, and for how many it was cut off from the data that were lost: nothing is reported.
 *
 * Returns `full` and has changed nothing, or: how many statements of the node were applied; the number of the latest change of any user;
 * when something is due; what the node has claimed; the arrivals that it must ask for by `CLAIM`; `+` if the user has come online.
 */
export const SIGN = script(`${WEBHOOK_EVENTS}${SIGN_OUT}
local node, topic, flags = ARGV[1], ARGV[3], ARGV[5]
local refused = refusal(node, ARGV[2])
if refused then return {refused} end
local T, held = P .. 'T:' .. topic, ARGV[7]
-- The connections of other nodes whose leases have not ended.
local function heldElsewhere()
  local total, state = 0, call('HGETALL', T)
  for i = 1, #state, 2 do
    local other = string.match(state[i], '^c(.*)$')
    if other and other ~= node then
      -- It was swept, or has signed out while there was no limit.
      if call('HEXISTS', P .. 'O:' .. other, topic) == 0 then call('HDEL', T, state[i])
      elseif tonumber(call('ZSCORE', P .. 'L', other) or '0') >= nowMs() then total = total + tonumber(state[i + 1]) end
    end
  end
  return total
end
-- Whether it is stated again, for how long the node has had connections, and was cut off.
local ageMs, awayMs = string.match(ARGV[6], '^(%d+) (%d+)$')
-- The first node has connections of the user. Returns since when the user is online.
local function comeOnline(since)
  if call('ZREM', W, 'o' .. topic) == 0 then
    publish(topic, number(), '+')
    if not ageMs then moved[1] = '+' end
  else
    -- A user who returns in time was never reported offline.
    since = string.match(call('GET', P .. 'UL:' .. topic) or '', '^%d+') or since
  end
  return since or text(nowMs())
end
-- One more node has connections of the user. Notes since when the user is online, and the flags.
local function signIn()
  local isWanted, again = has(flags, 'w'), ageMs ~= nil
  if isWanted then
    -- Who was reported as gone meanwhile is back.
    again = again and not wasReported('d' .. topic, tonumber(awayMs))
    if again then cancelArrival('u' .. topic) end
  end
  local since, isFirst = again and text(nowMs() - ageMs) or nil, call('HINCRBY', T, '#', 1) == 1
  if isFirst then since = comeOnline(since)
  elseif since and tonumber(call('HGET', T, 's') or since) < tonumber(since) then since = nil end
  local fields = {}
  if since then fields = {'s', since} end
  if flags ~= '' then
    fields[#fields + 1] = 'f'
    fields[#fields + 1] = flags
  end
  if #fields > 0 then call('HSET', T, unpack(fields)) end
  if not isWanted then return end
  if isFirst then arrive('u', 'd', topic, again)
  elseif not again then joinArrival('u' .. topic) end
end
if ARGV[8] and tonumber(held) + heldElsewhere() > tonumber(ARGV[8]) then return {'full'} end
if has(flags, 'w') then knowWebhooks() end
backMs, ownMs = offlineMsOf(flags), ${OWN_MS}
local version, O = text(call('HINCRBY', P .. 'V', node, 1)), P .. 'O:' .. node
if ARGV[4] == '0' then
  if call('HDEL', O, topic) == 1 then signOut(topic, flags, nowMs(), backMs) end
elseif call('HSETNX', O, topic, '1') == 1 then signIn()
elseif flags ~= '' then call('HSET', T, 'f', flags) end
if held and ARGV[4] == '1' then call('HSET', T, 'c' .. node, held) elseif held then call('HDEL', T, 'c' .. node) end
return {'ok', version, call('GET', P .. 'S') or '0', dueMs, claims, owed, moved}
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

/**
 * Returns the number of the latest change of any user, and of each user whether they are online and when their connections
 * were last terminated. Arguments: node, epoch, topics.
 */
export const USERS = script(`
local refused = refusal(ARGV[1], ARGV[2])
if refused then return {refused} end
local answer = {'ok', call('GET', P .. 'S') or '0'}
for i = 3, #ARGV do
  local state = call('HMGET', P .. 'T:' .. ARGV[i], '#', 'x')
  -- A user who left a moment ago still counts as online.
  local online = state[1] or call('ZSCORE', W, 'o' .. ARGV[i])
  answer[#answer + 1] = {online and '1' or '0', state[2] or '0'}
end
return answer
`);

/**
 * Returns of each user `+` and since when they have been online, or `-` and when they were last seen, or nothing where that is not known.
 * Arguments: node, epoch, topics.
 */
export const USER_STATUSES = script(`${COMPLETE}
local function statusOf(topic)
  local state = call('HMGET', P .. 'T:' .. topic, '#', 's')
  if state[1] then return '+' .. (state[2] or '') end
  if call('ZSCORE', W, 'o' .. topic) then return '+' .. (string.match(call('GET', P .. 'UL:' .. topic) or '', '^%d+') or '') end
  local app = ownerOf(topic)
  local seen = call('ZSCORE', P .. 'LS:' .. app, string.sub(topic, #app + 2))
  if seen and tonumber(seen) > nowMs() - ${LAST_SEEN_MS} then return '-' .. seen end
  return '-'
end
local answer = {'ok'}
for i = 3, #ARGV do answer[#answer + 1] = statusOf(ARGV[i]) end
return answer
`);

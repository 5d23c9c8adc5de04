import { COMPLETE } from './queries.ts';
import { script } from './script.ts';
import { GRACE_MS, OWN_MS, WEBHOOK_EVENTS } from './webhook-events.ts';

/**
 * The limit of users of one app of whom a partition keeps when they were last seen, so that all partitions keep 100,000; and for how
 * long.
 */
const LAST_SEEN_MAX = 1562;
const LAST_SEEN_MS = 7 * 24 * 3_600_000;

/** Each time that this many users are new, the script removes those that were last seen too long ago. */
const LOOKED_EACH = 16;

/** For how many milliseconds it is known of who has gone offline when the last connection ended, for webhooks that are late. */
const GONE_KNOWN_MS = 600_000;

/** What scripts share that take connections away from users. They need `WEBHOOK_EVENTS`. */
export const SIGN_OUT = `
-- How much more than others the node has to ask for the event that it has stated.
local ownMs = 0
-- One node fewer has connections of a user, of which the last ended at a time. Counts as offline after the delay.
local function signOut(topic, flags, delay, now, endedMs)
  local T = P .. 'T:' .. topic
  if call('HINCRBY', T, '#', -1) > 0 then return end
  local since = call('HGET', T, 's') or ''
  call('DEL', T)
  call('ZADD', W, now + delay, 'o' .. topic)
  dueIn(delay)
  call('SET', P .. 'UL:' .. topic, since .. ' ' .. text(endedMs), 'PX', delay + ${GONE_KNOWN_MS})
  -- When the user was last seen. The oldest give way.
  local app = ownerOf(topic)
  local LS = P .. 'LS:' .. app
  local users = call('ZADD', LS, endedMs, string.sub(topic, #app + 2)) == 1 and call('ZCARD', LS) or 0
  call('PEXPIRE', LS, ${LAST_SEEN_MS})
  if users > ${LAST_SEEN_MAX} then call('ZREM', LS, unpack(call('ZRANGE', LS, 0, users - ${LAST_SEEN_MAX} - 1))) end
  if users > 0 and users % ${LOOKED_EACH} == 0 then
    local old = call('ZRANGEBYSCORE', LS, '-inf', now - ${LAST_SEEN_MS}, 'LIMIT', 0, ${2 * LOOKED_EACH})
    if #old > 0 then call('ZREM', LS, unpack(old)) end
  end
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
if ARGV[8] and tonumber(held) + heldElsewhere() > tonumber(ARGV[8]) then return {'full'} end
local isWanted = has(flags, 'w')
if isWanted then knowWebhooks() end
backMs, ownMs = tonumber(string.match(flags, '%d+') or '${GRACE_MS}'), ${OWN_MS}
local version, O, latest = text(call('HINCRBY', P .. 'V', node, 1)), P .. 'O:' .. node, nil
if ARGV[4] == '0' then
  -- Nobody reads the number.
  latest = '0'
  if call('HDEL', O, topic) == 1 then
    local now = nowMs()
    signOut(topic, flags, backMs, now, now)
  end
elseif call('HSETNX', O, topic, '1') == 1 then
  local again = ageMs ~= nil
  if again and isWanted then
    -- Who was reported as gone meanwhile is back.
    again = not wasReported('d' .. topic, tonumber(awayMs))
    if again then cancelArrival('u' .. topic) end
  end
  local since, isFirst = again and text(nowMs() - ageMs) or nil, call('HINCRBY', T, '#', 1) == 1
  if not isFirst then
    if since and tonumber(call('HGET', T, 's') or since) < tonumber(since) then since = nil end
  elseif call('ZREM', W, 'o' .. topic) == 1 then
    -- A user who returns in time was never reported offline.
    since = string.match(call('GET', P .. 'UL:' .. topic) or '', '^%d+') or since
  else
    latest = number()
    publish(topic, latest, '+')
    if not ageMs then moved[1] = '+' end
  end
  if isFirst and not since then since = text(nowMs()) end
  if since then call('HSET', T, 's', since) end
  if flags ~= '' then call('HSET', T, 'f', flags) end
  if isWanted and isFirst then arrive('u', 'd', topic, again) end
elseif flags ~= '' then call('HSET', T, 'f', flags) end
if isWanted and ARGV[4] == '1' then owe('u' .. topic) end
if held and ARGV[4] == '1' then call('HSET', T, 'c' .. node, held) elseif held then call('HDEL', T, 'c' .. node) end
return {'ok', version, latest or call('GET', P .. 'S') or '0', dueMs, claims, owed, moved}
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
 * Returns for each user: `+` and since when the user is online, or `-` and when the user was last seen. A time that is not known is empty.
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

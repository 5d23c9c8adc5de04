import { COMPLETE } from './queries.ts';
import { script } from './script.ts';
import { GRACE_MS } from './webhook-events.ts';

/**
 * The limit of users of one app of whom a partition keeps when they were last seen, so that all partitions keep 100,000; and for how
 * long.
 */
const LAST_SEEN_MAX = 1562;
const LAST_SEEN_MS = 7 * 24 * 3_600_000;

/** The limit of users that one call forgets because their time is over. */
const FORGOTTEN_AT_ONCE = 10;

/** Milliseconds beyond those in which a user still counts as online, for who reads late since when that was. */
const LEAVING_MS = 60_000;

/** What scripts share that take connections away from users. */
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
-- One node fewer has connections of a user, of which the last ended at this time. Counts as offline after the delay.
local function signOut(topic, endedMs, delay)
  local T = P .. 'T:' .. topic
  if call('HINCRBY', T, '#', -1) > 0 then return end
  local since = call('HGET', T, 's')
  call('DEL', T)
  later('o' .. topic, delay)
  if since then call('SET', P .. 'UL:' .. topic, since, 'PX', delay + ${LEAVING_MS}) end
  noteLastSeen(topic, endedMs)
end
`;

/**
 * States whether a node has connections of a user. Arguments: node, epoch, topic, `1` or `0`, flags, for how many milliseconds the
 * node has had them if it states them again after a loss of data, or nothing; if the app limits them, how many; for one more, the limit.
 *
 * Flags: a number: for how many milliseconds users without connections still count as online, unless it is the usual.
 *
 * Returns `full` and has changed nothing, or: how many statements of the node were applied, the number of the latest change of any user,
 * when something is due, and what the node has claimed.
 */
export const SIGN = script(`${SIGN_OUT}
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
-- One more node has connections of the user. Sets the fields of \`T\` that say since when, and how its apps count.
local function signIn()
  local isFirst, ageMs = call('HINCRBY', T, '#', 1) == 1, tonumber(ARGV[6])
  local since = ageMs and text(nowMs() - ageMs)
  if isFirst then
    -- A user who returns in time was never reported offline.
    if call('ZREM', W, 'o' .. topic) == 1 then since = call('GET', P .. 'UL:' .. topic) or since
    else publish(topic, number(), '+') end
    since = since or text(nowMs())
  elseif since and tonumber(call('HGET', T, 's') or since) < tonumber(since) then since = nil end
  local fields = {}
  if since then fields = {'s', since} end
  if flags ~= '' then
    fields[#fields + 1] = 'f'
    fields[#fields + 1] = flags
  end
  if #fields > 0 then call('HSET', T, unpack(fields)) end
end
if ARGV[8] and tonumber(held) + heldElsewhere() > tonumber(ARGV[8]) then return {'full'} end
local version, O = text(call('HINCRBY', P .. 'V', node, 1)), P .. 'O:' .. node
if ARGV[4] == '0' then
  if call('HDEL', O, topic) == 1 then signOut(topic, nowMs(), offlineMsOf(flags)) end
elseif call('HSETNX', O, topic, '1') == 1 then signIn()
elseif flags ~= '' then call('HSET', T, 'f', flags) end
if held and ARGV[4] == '1' then call('HSET', T, 'c' .. node, held) elseif held then call('HDEL', T, 'c' .. node) end
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
  if call('ZSCORE', W, 'o' .. topic) then return '+' .. (call('GET', P .. 'UL:' .. topic) or '') end
  local app = ownerOf(topic)
  local seen = call('ZSCORE', P .. 'LS:' .. app, string.sub(topic, #app + 2))
  if seen and tonumber(seen) > nowMs() - ${LAST_SEEN_MS} then return '-' .. seen end
  return '-'
end
local answer = {'ok'}
for i = 3, #ARGV do answer[#answer + 1] = statusOf(ARGV[i]) end
return answer
`);

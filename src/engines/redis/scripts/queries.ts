import { script } from './script.ts';

/** Refuses while nodes are still stating what they hold after a loss of data, so that no answer is a part of the truth. */
export const COMPLETE = `
local refused = refusal(ARGV[1], ARGV[2])
if refused then return {refused} end
local incomplete = call('GET', P .. 'Y')
if incomplete then
  if tonumber(incomplete) > nowMs() then return {'incomplete'} end
  call('DEL', P .. 'Y')
end
`;

/**
 * Returns the sequence number of a channel, its members as loops know them and its subscriptions; of a large channel no members, but their number. Arguments: node, epoch, topic. Also answers
 * while incomplete.
 */
export const ROSTER = script(`
local refused = refusal(ARGV[1], ARGV[2])
if refused then return {refused} end
local state = call('HMGET', P .. 'T:' .. ARGV[3], '!', '#', 'l')
if state[3] then return {'ok', state[1] or '0', {}, state[2] or '0', call('HLEN', P .. 'I:' .. ARGV[3])} end
return {'ok', state[1] or '0', knownMembers(ARGV[3]), state[2] or '0'}
`);

/** Returns the numbers of the last messages of topics. Arguments: node, epoch, topics. Also answers while incomplete. */
export const NUMBERS = script(`
local refused = refusal(ARGV[1], ARGV[2])
if refused then return {refused} end
local answer = {'ok'}
for i = 3, #ARGV do answer[#answer + 1] = call('HGET', P .. 'T:' .. ARGV[i], '!') or '0' end
return answer
`);

/** Returns the members of a channel. Arguments: node, epoch, topic. */
export const MEMBERS = script(`${COMPLETE}return {'ok', call('HGETALL', P .. 'I:' .. ARGV[3])}`);

/**
 * Returns the members of a channel, of a large one those behind a number, in the order of joining. Arguments: node, epoch, topic, number,
 * limit.
 */
export const MEMBERS_PAGE = script(`${COMPLETE}
local I, Z = P .. 'I:' .. ARGV[3], P .. 'Z:' .. ARGV[3]
if call('EXISTS', Z) == 0 then return {'ok', call('HGETALL', I)} end
return {'ok', membersOf(I, call('ZRANGE', Z, '(' .. ARGV[4], '+inf', 'BYSCORE', 'LIMIT', 0, ARGV[5]))}
`);

/** Returns a member of a channel, or nothing. Arguments: node, epoch, topic, user. */
export const MEMBER = script(
  `${COMPLETE}return {'ok', call('HGET', P .. 'I:' .. ARGV[3], ARGV[4]) or ''}`,
);

/** Returns the subscriptions and the users of a channel. Arguments: node, epoch, topic. */
export const COUNTS = script(
  `${COMPLETE}return {'ok', call('HGET', P .. 'T:' .. ARGV[3], '#') or '0', call('HLEN', P .. 'I:' .. ARGV[3])}`,
);

/** Returns the cached event of a channel: the milliseconds that are left, name, data, and its id or nothing. Arguments: node, epoch, topic. */
export const CACHED = script(`${COMPLETE}
return {'ok', remembered(ARGV[3]) or {}}
`);

/** Returns how many channels of an app are occupied. Arguments: node, epoch, app. */
export const CHANNEL_COUNT = script(
  `${COMPLETE}return {'ok', call('ZCARD', P .. 'C:' .. ARGV[3])}`,
);

/** Channels that one page examines at most, so that no script runs for long. */
const EXAMINED_MAX = 1000;

/**
 * Returns occupied channels of an app, each with its subscriptions, users and position, and the position to continue after.
 * Arguments: node, epoch, app, prefix, the position to begin after, limit.
 */
export const PAGE = script(
  `${COMPLETE}
local prefix, limit, rows, C = ARGV[4], tonumber(ARGV[6]), {}, P .. 'C:' .. ARGV[3]
local found = call('ZRANGE', C, '(' .. ARGV[5], '+inf', 'BYSCORE', 'LIMIT', 0, ${EXAMINED_MAX}, 'WITHSCORES')
for i = 1, #found, 2 do
  local name, position = found[i], found[i + 1]
  if string.sub(name, 1, #prefix) == prefix then
    if #rows == limit then return {'ok', rows, rows[limit][4]} end
    local topic = ARGV[3] .. '/' .. name
    rows[#rows + 1] = {name, call('HGET', P .. 'T:' .. topic, '#') or '0', call('HLEN', P .. 'I:' .. topic), position}
  end
end
return {'ok', rows, #found == ${2 * EXAMINED_MAX} and found[#found] or ''}
`,
);

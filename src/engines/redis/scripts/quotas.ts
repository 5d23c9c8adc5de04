import { COMPLETE } from './queries.ts';
import { script } from './script.ts';

/** How long Redis keeps the last statement of a loop, the usage of a day, and a token bucket. Seconds. */
const LOOP_SECONDS = 3600;
const DAY_SECONDS = 90_000;
const RATE_SECONDS = 600;

/**
 * Adds what a loop has taken of quotas and rates. It needs no lease: what was taken stays taken. A statement that is made
 * again, because its reply was lost, adds nothing.
 *
 * Arguments: the loop, the number of this statement; then for each app
 * - its id and the day;
 * - the messages that backends and clients took;
 * - the messages of backends and clients on all loops, as the loop knew them, and `1` if it knew them from Redis;
 * - the triggers that were taken and their limit per second, the same of queries; 0: no limit.
 *
 * Returns the number of loops; then for each app its messages of the day (of backends, of clients), those of backends before
 * this statement, and the tokens that its buckets of triggers and queries have left.
 */
export const USE = script(`
local now, isNew, answer = nowMs(), call('GET', P .. 'u:' .. ARGV[1]) ~= ARGV[2], {'ok', call('ZCARD', P .. 'L')}
call('SET', P .. 'u:' .. ARGV[1], ARGV[2], 'EX', ${LOOP_SECONDS})
local function total(Q, cause, taken, known, isFromHere)
  local saved = call('HGET', Q, cause)
  local before = tonumber(saved or '0')
  -- Redis may have lost some. What a loop knows from the store may hold what others are about to add.
  if (isFromHere or not saved) and known > before then before = known end
  local sum = isNew and before + taken or before
  if not saved or tonumber(saved) ~= sum then call('HSET', Q, cause, text(sum)) end
  return before, sum
end
local function left(B, kind, taken, limit)
  if limit == 0 then return '0' end
  local saved, level = call('HMGET', B, kind, kind .. '@'), limit
  if saved[1] then level = math.min(limit, saved[1] + math.max(0, now - saved[2]) * limit / 1000) end
  if isNew and taken > 0 then
    level = level - taken
    call('HSET', B, kind, string.format('%.3f', level), kind .. '@', text(now))
    call('EXPIRE', B, ${RATE_SECONDS})
  end
  return string.format('%.3f', level)
end
for i = 3, #ARGV, 11 do
  local a = {}
  for n = 2, 10 do a[n] = tonumber(ARGV[i + n]) end
  local Q, B = P .. 'Q:' .. ARGV[i + 1] .. '/' .. ARGV[i], P .. 'B:' .. ARGV[i]
  local before, backend = total(Q, 'b', a[2], a[4], a[6] == 1)
  local _, clients = total(Q, 'c', a[3], a[5], a[6] == 1)
  call('EXPIRE', Q, ${DAY_SECONDS})
  answer[#answer + 1] = {text(backend), text(clients), text(before), left(B, 't', a[7], a[8]), left(B, 'q', a[9], a[10])}
end
return answer
`);

/**
 * States how many connections of apps a node has. Arguments: node, epoch; then for each app its id, how many connections
 * have a place, how many want one or have it, the limit (0: none), and how many are open.
 *
 * Returns how many statements of the node were applied; a sequence number, a due time and claims, as other statements do; and
 * for each app how many connections have a place now, never fewer than had one.
 */
export const HOLD = script(`
local node = ARGV[1]
local refused = refusal(node, ARGV[2])
if refused then return {refused} end
local X, H, answer = P .. 'X', P .. 'H:' .. node, {}
for i = 3, #ARGV, 5 do
  local app, held, wanted, limit = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3])
  local old = tonumber(string.match(call('HGET', H, app) or '0', '^%d+'))
  local others = tonumber(call('HGET', X, app) or '0') - old
  local new = wanted
  if limit > 0 then new = math.max(held, math.min(wanted, limit - others)) end
  if new > 0 or ARGV[i + 4] ~= '0' then call('HSET', H, app, new .. ' ' .. ARGV[i + 4]) else call('HDEL', H, app) end
  if others + new > 0 then call('HSET', X, app, others + new) else call('HDEL', X, app) end
  answer[#answer + 1] = new
end
return {'ok', text(call('HINCRBY', P .. 'V', node, 1)), '0', -1, {}, answer}
`);

/**
 * Returns of each app how many channels are occupied, and its messages of a day: of backends, of clients. Arguments: node,
 * epoch, day, apps.
 */
export const ACTIVITY = script(`${COMPLETE}
local answer = {'ok'}
for i = 4, #ARGV do
  local used = call('HMGET', P .. 'Q:' .. ARGV[3] .. '/' .. ARGV[i], 'b', 'c')
  answer[#answer + 1] = {call('ZCARD', P .. 'C:' .. ARGV[i]), used[1] or '0', used[2] or '0'}
end
return answer
`);

/** Returns each node's server with what it states of connections: app, connections with a place and open ones. */
export const SERVERS = script(`${COMPLETE}
local answer, names = {'ok'}, call('HGETALL', P .. 'J')
for i = 1, #names, 2 do answer[#answer + 1] = {names[i + 1], call('HGETALL', P .. 'H:' .. names[i])} end
return answer
`);

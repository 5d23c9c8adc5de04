import { RedisScript } from '../link/script.ts';
import { GRACE_MS } from './webhook-events.ts';

/** Milliseconds after which a node that has not renewed its lease counts as dead. */
export const LEASE_MS = 10_000;

/** What every script has. All functions are made at each call, and one takes about as long as two texts. */
const BASIS = `
local P, call = KEYS[1], redis.call
local function nowMs() local t = redis.call('TIME') return t[1] * 1000 + math.floor(t[2] / 1000) end
local function text(number) return string.format('%.0f', number) end
`;

/**
 * What nearly all scripts share. The streams of a partition begin with `KEYS[2]`, or with `t:` behind `KEYS[1]`. All its keys begin with
 * `KEYS[1]`:
 *
 * | key | holds |
 * |---|---|
 * | `E` | the epoch: an id that is lost if the data are |
 * | `Y` | until when a partition that lost its data is incomplete |
 * | `L`, `D` | sorted sets: nodes by the end of their lease; dead nodes that are being swept |
 * | `V` | by node, the number of statements that were applied |
 * | `N:node`, `M:node`, `O:node` | what a node states: subscriptions by topic; members; users who are signed in |
 * | `J` | by node, the name of its server |
 * | `H:node`, `X` | by app: a node's connections with a place, and its open ones; connections with a place on all nodes |
 * | `Q:day/app` | messages of an app on a day: `b` of backends, `c` of clients |
 * | `B:app` | token buckets of an app: tokens of triggers (`t`) and queries (`q`), and when they were counted (`t@`, `q@`) |
 * | `u:loop` | the number of the last statement of a loop about usage |
 * | `T:topic` | `#` total, `!` last sequence number, `f` flags, `m` cache miss was reported, `l` a large channel: the flag of `STATE` with which it became occupied, `j` the number of its last member, `x` last termination, `r` until when the latest departure waits (where members may stay); of users since when they have been online (`s`), the flags of `SIGN` (`f`), and with a limit, `c` and a node: its connections |
 * | `UL:topic` | of a user without connections: since when it had been online, and when the last one ended |
 * | `LS:app` | sorted set by time: when users were last seen |
 * | `U:topic`, `I:topic` | members: how many nodes hold each; sequence number and info of each |
 * | `Z:topic` | sorted set of the members of a large channel by the numbers of their joining, which are in `I:topic` too |
 * | `C:app`, `A` | sorted set of the occupied channels, in the order in which they became so; the last number by app |
 * | `R:topic` | how many subscription counts were sent recently |
 * | `RM:second:topic` | by member, how many changes there were in this second |
 * | `W` | sorted set by the time they are due: what is reported later, and webhook events that were claimed |
 * | `MD:topic` | members whose departure is published later: the sequence number and info that loops have |
 * | `WM` | the same as `W` for them: topic, user. Not in `W`, because older servers would drop them |
 * | `WS` | members that stay without connections, until when: topic, user. In `U` and `#` each counts like one of a node |
 * | `WC:node` | sorted set by the end of the claim: the webhook events that a node has claimed |
 * | `WY` | after a loss of data, by kind and subject: events of arrivals that are not reported yet; when somebody has left |
 * | `WG` | after a loss of data, by kind and subject: who was reported as gone, and not as back since |
 * | `WR` | after a loss of data, by kind and subject: when a departure was reported before it |
 * | `WK:subject` | sorted set by number: the webhook events of one member, or of a channel, that are not stored yet |
 * | `S` | the partition's own counter, for ids of webhook events and for the changes of users |
 * | `K:topic`, `k:app`, `kb` | cached events: end (`x`), name (`n`), data (`d`), id (`i`); their topics by app, in the order of their end; their bytes |
 * | `KV:topic` | the text of a value as it stands in a frame. In `K:topic` it has its own id (`v`), `n`, its end (`e`), UTF-16 units (`l`), bytes (`y`) and those in a frame (`z`), `e` if it has ended (`q`), whether it should stop (`s`), `i` |
 * | `KN`, `KB`, `KT` | cached events by app, their bytes by app, and `b` the bytes of all |
 * | `HL:topic`, `HM:topic` | the history of a channel: its events, oldest first; `g` generation, `l` last number, `b` id before the first event, `n` newest id, `y` bytes, `s` seconds that an event is kept |
 * | `HO:app`, `HB` | channels of an app by the time of their oldest event; bytes of its histories by app |
 * | `HE`, `HN`, `HT` | channels by the time when their oldest event is too old; events and bytes of all histories |
 * | `HI:app`, `HC`, `HX` | empty histories of channels without subscribers by the time since when; their number by app, and of all |
 * | `HR`, `HA`, `HG`, `HP` | by app, its rules and how often its histories were forgotten; how often all were, and the process of Redis since then |
 * | `I1:topic key`, `I2:app` | when an idempotency key ends, and the id of its event; the keys of an app, oldest first |
 * | `I3`, `I4`, `I5` | number of such keys by app, and of all apps; apps by the time of their latest key |
 * | `GE:app`, `GL:app` | recent events of an app, and changes of members, in the order of publishing: the latest; older ones in chunks that begin with their time |
 * | `GB`, `GT` | bytes of recent events by app, and of all |
 * | `GD:app` | how many chunks were forgotten (`i`), and the time of the last of those (`d`) |
 * | `GO` | nodes of earlier releases run, or have run |
 * | `z` | where Redis does not say the time, the latest that a call has brought; see `RedisScript.timed` |
 * | `G1`, `G0`, `G` | for those, the same of all apps, the newer and the older half; where the newer half begins (`o`) |
 *
 * Members of `W`: `v` topic (vacated), `r` topic, user (member removed), `o` topic (user offline, for watchers), `d` topic (the same for webhooks), `c` topic (count), `g` (some of
 * `WS` are due), and `h` number, kind, topic (a claimed webhook event).
 *
 * A number above 2^53 would print as 1.79e+15, so numbers become text by `text`.
 */
const PRELUDE = `
local claims, moved, dueMs = {}, {}, -1
-- Until who has left counts as gone.
local graceMs = ${GRACE_MS}
local streams = KEYS[2] or P .. 't:'
-- Set by the scripts that know histories.
local historyVacated
local W, WM, WS = P .. 'W', P .. 'WM', P .. 'WS'
local function has(flags, flag) return string.find(flags, flag, 1, true) ~= nil end
local started
local function base()
  if not started then
    local t = redis.call('TIME')
    started = t[1] .. string.format('%06d', t[2])
  end
  return started
end
-- By key of the topic, the last number that this call has given.
local numbers = {}
-- Numbers begin with the time, so a topic that was forgotten begins above its old numbers.
local function start(T)
  if call('HSETNX', T, '!', base()) == 1 then numbers[T] = base() end
end
local function step(topic)
  local T = P .. 'T:' .. topic
  local number = call('HINCRBY', T, '!', 1)
  -- There was none.
  if number == 1 then number = call('HINCRBY', T, '!', base()) end
  numbers[T] = text(number)
  return numbers[T]
end
local function number()
  local number = call('INCR', P .. 'S')
  if number == 1 then number = call('INCRBY', P .. 'S', base()) end
  return text(number)
end
local function publish(topic, seq, message) return call('PUBLISH', streams .. topic, seq .. message) end
local function dueIn(delay) if dueMs < 0 or delay < dueMs then dueMs = delay end end
local function later(id, delay)
  call('ZADD', W, nowMs() + delay, id)
  dueIn(delay)
end
local function ownerOf(topic) return string.sub(topic, 1, string.find(topic, '/', 1, true) - 1) end
local function refusal(node, epoch)
  if call('GET', P .. 'E') ~= epoch then return 'lost' end
  if not call('ZSCORE', P .. 'L', node) then return 'fenced' end
  return nil
end
local function infoOf(member) return string.match(member, '^[^\\n]*\\n(.*)$') end
-- Set if no channel of the call has members whose departure is published later.
local nobodyDeparts = false
-- The members of a channel as loops know them.
local function knownMembers(topic)
  local members = call('HGETALL', P .. 'I:' .. topic)
  local departed = nobodyDeparts and {} or call('HGETALL', P .. 'MD:' .. topic)
  if #departed == 0 then return members end
  local known, answer = {}, {}
  for i = 1, #members, 2 do known[members[i]] = members[i + 1] end
  for i = 1, #departed, 2 do known[departed[i]] = departed[i + 1] end
  for user, member in pairs(known) do
    answer[#answer + 1] = user
    answer[#answer + 1] = member
  end
  return answer
end
-- What a hash of members says about some of them, as \`HGETALL\` does.
local function membersOf(I, users)
  local answer = {}
  if #users == 0 then return answer end
  for n, member in ipairs(call('HMGET', I, unpack(users))) do
    if member then
      answer[#answer + 1] = users[n]
      answer[#answer + 1] = member
    end
  end
  return answer
end
-- The event that a cache channel remembers: the milliseconds that are left, name, data, and its id if it is the newest of the
-- history of its channel. Of a value the text as it stands in a frame in place of the data, and its own id, length, and whether it has ended.
local function remembered(topic)
  local event = call('HMGET', P .. 'K:' .. topic, 'x', 'n', 'd', 'i', 'v', 'e', 'l', 'q')
  local left = tonumber(event[1] or event[6] or '0') - nowMs()
  if left <= 0 then return nil end
  local isNewest = event[4] and event[4] ~= '' and call('HGET', P .. 'HM:' .. topic, 'n') == event[4]
  local found = {text(left), event[2], event[3], isNewest and event[4] or ''}
  if not event[5] then return found end
  found[3], found[5], found[6], found[7] = call('GET', P .. 'KV:' .. topic) or '', event[5], event[7], event[8]
  return found
end
`;

/** Makes a script of the shared functions and its own body. */
export function script(body: string): RedisScript {
  return new RedisScript(BASIS + PRELUDE + body);
}

/** Makes a script that runs so often that it has only the shared functions which it needs. */
export function leanScript(body: string): RedisScript {
  return new RedisScript(BASIS + body);
}

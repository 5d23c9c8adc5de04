import { CHANGES } from './changes.ts';
import { HISTORIES, SWEEP_HISTORIES } from './histories.ts';
import { NOTE_OLD_NODES, SWEEP_RECENT } from './recent-events.ts';
import { LEASE_MS, script } from './script.ts';
import { SIGN_OUT } from './users.ts';
import { GRACE_MS, OWN_MS, WEBHOOK_EVENTS } from './webhook-events.ts';

/** How many due items one call takes, so that no script runs for long. */
const DUE_MAX = 100;

const CLAIM_DUE = `
-- What has changed in channels that the node states nothing of, and which users have gone offline, for live streams: topic, transition.
local ends = {}
local function noteEnds(topic)
  for _, change in ipairs(moved) do ends[#ends + 1] = topic .. '\\n' .. change end
  moved = {}
end
-- Tells loops of a departure that had to wait, and of the return of the user with another info.
local function tellDeparture(subject)
  call('ZREM', WM, subject)
  local at = string.find(subject, '\\n', 1, true)
  local topic, user = string.sub(subject, 1, at - 1), string.sub(subject, at + 1)
  -- A topic that nobody holds has no number, and nobody to tell.
  if call('HDEL', P .. 'MD:' .. topic, user) == 0 or call('EXISTS', P .. 'T:' .. topic) == 0 then return end
  countChange(topic, user, call('HGET', P .. 'T:' .. topic, 'f') or '')
  tellRemoved(topic, user)
  local member = call('HGET', P .. 'I:' .. topic, user)
  if not member then return end
  local seq = step(topic)
  call('HSET', P .. 'I:' .. topic, user, seq .. '\\n' .. infoOf(member))
  tellAdded(topic, seq, '', user, infoOf(member))
end
-- The time is over of a member that has stayed without connections.
local function endStay(subject)
  call('ZREM', WS, subject)
  local at = string.find(subject, '\\n', 1, true)
  local topic, user, normalMs = string.sub(subject, 1, at - 1), string.sub(subject, at + 1), graceMs
  local flags = call('HGET', P .. 'T:' .. topic, 'f') or ''
  -- Webhooks count from the end of the last connection. The node that has stated it asks for the events.
  graceMs = math.max(0, ${GRACE_MS} - 1000 * tonumber(string.match(flags, 'g(%d+)') or '0')) + ${OWN_MS}
  isStayOver = true
  go(topic, user, flags)
  count(topic, -1, flags, false)
  isStayOver, graceMs = false, normalMs
  noteEnds(topic)
end
local function endStays(now)
  for _, subject in ipairs(call('ZRANGEBYSCORE', WS, '-inf', now, 'LIMIT', 0, ${DUE_MAX})) do endStay(subject) end
  local first = call('ZRANGE', WS, 0, 0, 'WITHSCORES')
  if first[2] then call('ZADD', W, first[2], 'g') end
end
local function claimDue()
  local now = nowMs()
  for _, subject in ipairs(call('ZRANGEBYSCORE', WM, '-inf', now, 'LIMIT', 0, ${DUE_MAX})) do tellDeparture(subject) end
  for _, id in ipairs(call('ZRANGEBYSCORE', W, '-inf', now, 'LIMIT', 0, ${DUE_MAX})) do
    local kind, rest = string.sub(id, 1, 1), string.sub(id, 2)
    -- The node that had claimed an event has not stored it yet.
    if kind == 'h' then handOut(id)
    else
      call('ZREM', W, id)
      if kind == 'v' or kind == 'r' or kind == 'd' then
        local left = incompleteMs()
        if left > 0 then call('ZADD', W, now + left + ${OWN_MS}, id) else reportGone(kind, rest) end
      elseif kind == 'g' then
        endStays(now)
      elseif kind == 'o' then
        publish(rest, number(), '-')
        ends[#ends + 1] = rest .. '\\n-'
      else
        local state = call('HMGET', P .. 'T:' .. rest, '#', 'f')
        if state[1] and state[2] then
          call('DEL', P .. 'R:' .. rest)
          counted(rest, tonumber(state[1]), state[2])
        end
      end
    end
  end
  dueMs = -1
  for _, key in ipairs({W, WM}) do
    local first = call('ZRANGE', key, 0, 0, 'WITHSCORES')
    if first[2] then dueIn(math.max(0, math.ceil(tonumber(first[2])) - now)) end
  end
end
`;

/**
 * Claims changes that a node has stated, also before others may claim them, and what is due. Arguments: node, epoch; changes by kind and
 * subject: `a` or `r` topic, user; `o`, `v`, `u` or `d` topic. After a loss of data, these wait.
 *
 * Returns milliseconds until something is due; the claimed webhook events; after how many milliseconds the node must ask for the
 * changes again, 0 if they are no longer there; topics whose members' stays are over, and of users who count as
 * offline from now on, with their transitions.
 */
export const CLAIM = script(`${CHANGES}${CLAIM_DUE}
-- Data that were lost know of no change, and the node must state its own.
local refused = refusal(ARGV[1], ARGV[2])
if refused then return {refused} end
knowWebhooks()
local left = incompleteMs()
if left == 0 then
  for i = 3, #ARGV do askFor(ARGV[i]) end
end
claimDue()
return {'ok', dueMs, claims, left, ends}
`);

/**
 * Forgets webhook events that are stored or dropped. Otherwise they are reported again, with the same ids. Arguments: node, or
 * nothing if it stops; the events. Returns milliseconds until something is due, and claimed webhook events.
 */
export const SETTLE = script(`${WEBHOOK_EVENTS}
knowWebhooks()
for i = 2, #ARGV do settle(ARGV[i]) end
return {'ok', dueMs, claims}
`);

/**
 * Renews the lease of a node, claims what is due and sweeps some of what dead nodes held. Arguments: node, epoch, how much to
 * sweep, `1` to claim again what the node has claimed, and a former node of the same server, which alone is swept, or nothing. Nothing
 * is swept if the lease had ended: then others may have been unable to renew theirs as well.
 *
 * Returns `ok`, or `late` if the lease had ended and nobody had noticed; how many statements of the node were applied;
 * milliseconds until something is due; claimed webhook events; how much was swept; how many leases were ended; the events and
 * bytes of histories, and how many events were forgotten; topics of dead nodes, of members whose stay is over and of users
 * who count as offline from now on, with their transitions.
 */
export const TICK = script(`${HISTORIES}${SWEEP_HISTORIES}${CHANGES}${SWEEP_RECENT}${NOTE_OLD_NODES}
${SIGN_OUT}
${CLAIM_DUE}
knowWebhooks()
local ended = 0
local function endLease(node)
  -- From here on its statements are refused.
  if call('ZREM', P .. 'L', node) == 1 then call('ZADD', P .. 'D', nowMs(), node) end
end
local function sinceEndMs(node) return nowMs() - tonumber(call('ZSCORE', P .. 'D', node) or text(nowMs())) end
-- The connections of a user have ended with a node, so many milliseconds ago.
local function endUser(topic, agoMs)
  local flags = call('HGET', P .. 'T:' .. topic, 'f') or ''
  local offlineMs, now = tonumber(string.match(flags, '%d+') or '${GRACE_MS}'), nowMs()
  signOut(topic, flags, math.max(offlineMs - agoMs, math.min(offlineMs, ${GRACE_MS})), now, now - agoMs)
end
local function sweep(node, limit)
  local M, N, O, H, swept = P .. 'M:' .. node, P .. 'N:' .. node, P .. 'O:' .. node, P .. 'H:' .. node, 0
  local function some(key)
    local left = limit - swept
    if left <= 0 then return {} end
    local fields = call('HRANDFIELD', key, left)
    swept = swept + #fields
    return fields
  end
  for _, app in ipairs(some(H)) do
    local held = tonumber(string.match(call('HGET', H, app), '^%d+'))
    call('HDEL', H, app)
    if call('HINCRBY', P .. 'X', app, 0 - held) <= 0 then call('HDEL', P .. 'X', app) end
  end
  for _, field in ipairs(some(M)) do
    local at = string.find(field, '\\n', 1, true)
    local topic = string.sub(field, 1, at - 1)
    call('HDEL', M, field)
    local user, flags = string.sub(field, at + 1), call('HGET', P .. 'T:' .. topic, 'f') or ''
    local graceSeconds = string.match(flags, 'g(%d+)')
    -- It has waited while the lease ran, and since.
    if graceSeconds and stay(topic, user, 1000 * graceSeconds - ${LEASE_MS} - sinceEndMs(node)) then
      call('HINCRBY', P .. 'T:' .. topic, '#', 1)
    else go(topic, user, flags) end
    noteEnds(topic)
  end
  if call('EXISTS', M) == 0 then
    for _, topic in ipairs(some(N)) do
      local flags, held = call('HGET', P .. 'T:' .. topic, 'f') or '', tonumber(call('HGET', N, topic))
      call('HDEL', N, topic)
      counted(topic, count(topic, -held, flags, false), flags)
      noteEnds(topic)
    end
    for _, topic in ipairs(some(O)) do
      call('HDEL', O, topic)
      endUser(topic, sinceEndMs(node) + ${LEASE_MS})
    end
  end
  if call('EXISTS', M, N, O, H) == 0 then
    call('ZREM', P .. 'D', node)
    call('HDEL', P .. 'V', node)
    call('HDEL', P .. 'J', node)
  end
  return swept
end
local function sweepDead(limit)
  for _, node in ipairs(call('ZRANGEBYSCORE', P .. 'L', '-inf', nowMs(), 'LIMIT', 0, 10)) do
    endLease(node)
    ended = ended + 1
  end
  local swept = 0
  -- Several may have died at once. The oldest comes first.
  for _, node in ipairs(call('ZRANGE', P .. 'D', 0, 9)) do
    if swept >= limit then break end
    swept = swept + sweep(node, limit - swept)
  end
  return swept
end
local node = ARGV[1]
local refused = refusal(node, ARGV[2])
if refused then return {refused} end
local code = tonumber(call('ZSCORE', P .. 'L', node)) < nowMs() and 'late' or 'ok'
call('ZADD', P .. 'L', nowMs() + ${LEASE_MS}, node)
local swept = 0
local limit, former = tonumber(ARGV[3]), ARGV[5]
if former then
  endLease(former)
  swept = sweep(former, limit)
elseif code == 'ok' and limit > 0 then swept = sweepDead(limit) end
if noteOldNodes() then
  -- They drop what they do not know.
  local first = call('ZRANGE', WS, 0, 0, 'WITHSCORES')
  if first[2] then call('ZADD', W, 'LT', first[2], 'g') end
end
sweepRecent()
if ARGV[4] == '1' then repeatClaims() end
claimDue()
return {code, call('HGET', P .. 'V', node) or '0', dueMs, claims, swept, ended, sweepHistories(), ends}
`);

/** Ends the lease of a node that stops, so that others need not wait for its end. Argument: node. */
export const EXIT = script(`return {'ok', call('ZADD', P .. 'L', 'XX', 0, ARGV[1])}\n`);

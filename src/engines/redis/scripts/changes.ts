import { KEEP_RECENT } from './recent-events.ts';
import { WEBHOOK_EVENTS } from './webhook-events.ts';

/** How long the counts of one second are kept. */
const MEMBER_COUNTS_MS = 2000;

/** What scripts share that change who is in a channel: subscribers and webhooks are told. */
export const CHANGES = `${KEEP_RECENT}${WEBHOOK_EVENTS}
-- Counts a change of a member. Returns whether it is within the limit of the app.
-- One decision for all loops: if each delayed changes by its own clock, their clients would see them in different places.
local function countChange(topic, user, flags)
  local limit = tonumber(string.match(flags, '%d+') or '0')
  if limit == 0 then return true end
  local now = nowMs()
  local second = math.floor(now / 1000)
  local RM = P .. 'RM:' .. text(second) .. ':' .. topic
  local told = call('HINCRBY', RM, user, 1)
  if told == 1 then call('PEXPIRE', RM, ${MEMBER_COUNTS_MS}, 'NX') end
  return told <= limit
end
-- Set by a script about many channels: what is kept of a change of a member of an app, and a channel of an app that became occupied.
local keepLater, occupyLater
-- Tells loops of a change of a member, also those that are cut off now: they read it with the events before and after it.
local function tellMember(topic, seq, change)
  local published = seq .. change
  call('PUBLISH', streams .. topic, published)
  local app, kept = ownerOf(topic), #topic .. ':' .. #published .. ':' .. topic .. published
  if keepLater then keepLater(app, kept) else keepRecent(app, kept, call('EXISTS', P .. 'GO') == 1) end
end
local function tellAdded(topic, seq, socket, user, info)
  tellMember(topic, seq, '+' .. socket .. '\\n' .. user .. '\\n' .. info)
end
local function tellRemoved(topic, user) tellMember(topic, step(topic), '-' .. user) end
-- How long the node was cut off that states something again.
local awayMs = 0
-- One more node holds the member.
local function come(topic, user, info, flags, again, socket)
  local subject, MD = topic .. '\\n' .. user, P .. 'MD:' .. topic
  -- Who was reported as gone meanwhile is back.
  again = again and not wasReported('r' .. subject, awayMs)
  if again then cancelArrival('a' .. subject) end
  if call('HINCRBY', P .. 'U:' .. topic, user, 1) > 1 then
    if has(flags, 'w') and not again then joinArrival('a' .. subject) end
    return
  end
  moved[#moved + 1] = '+' .. user
  local departed = not nobodyDeparts and call('HGET', MD, user)
  if not departed then
    local seq = step(topic)
    -- Who is stated again has not changed.
    if not again then countChange(topic, user, flags) end
    call('HSET', P .. 'I:' .. topic, user, seq .. '\\n' .. info)
    tellAdded(topic, seq, socket, user, info)
  else
    -- For loops, the user has not gone.
    call('HSET', P .. 'I:' .. topic, user, string.match(departed, '^[^\\n]*') .. '\\n' .. info)
    if infoOf(departed) == info then
      call('HDEL', MD, user)
      call('ZREM', WM, subject)
    end
  end
  if has(flags, 'w') then arrive('a', 'r', subject, again) end
end
-- One node fewer holds the member.
local function go(topic, user, flags)
  local U = P .. 'U:' .. topic
  if not call('HGET', U, user) or call('HINCRBY', U, user, -1) > 0 then return end
  local I, MD = P .. 'I:' .. topic, P .. 'MD:' .. topic
  local member = call('HGET', I, user)
  call('HDEL', U, user)
  call('HDEL', I, user)
  moved[#moved + 1] = '-' .. user
  if call('HEXISTS', MD, user) == 0 then
    if not member or countChange(topic, user, flags) then tellRemoved(topic, user)
    else
      -- At the end of this second, unless the user returns before.
      local delay = 1000 - nowMs() % 1000
      call('HSET', MD, user, member)
      call('ZADD', WM, nowMs() + delay, topic .. '\\n' .. user)
      dueIn(delay)
    end
  end
  if has(flags, 'w') then leave('r' .. topic .. '\\n' .. user) end
end
-- Changes the number of subscriptions.
local function count(topic, delta, flags, again)
  local T = P .. 'T:' .. topic
  local total = call('HINCRBY', T, '#', delta)
  local app = ownerOf(topic)
  local C, channel = P .. 'C:' .. app, string.sub(topic, #app + 2)
  again = again and not wasReported('v' .. topic, awayMs)
  if again then cancelArrival('o' .. topic) end
  if total > 0 and total == delta then
    start(T)
    moved[#moved + 1] = 'o'
    if occupyLater then occupyLater(app, channel) else call('ZADD', C, call('HINCRBY', P .. 'A', app, 1), channel) end
    if has(flags, 'w') then arrive('o', 'v', topic, again) end
  elseif total <= 0 then
    moved[#moved + 1] = 'v'
    call('ZREM', C, channel)
    call('ZREM', W, 'c' .. topic)
    call('DEL', T, P .. 'U:' .. topic, P .. 'I:' .. topic, P .. 'MD:' .. topic)
    if historyVacated then historyVacated(topic) end
    if has(flags, 'w') then leave('v' .. topic) end
  elseif delta > 0 and has(flags, 'w') and not again then joinArrival('o' .. topic)
  end
  return total
end
-- Sends the number of subscriptions: five times a second, or once in 5 s above 100, and the last one always.
local function counted(topic, total, flags)
  if not has(flags, 'c') or (total == 0 and not has(flags, 'n')) then return end
  local R, large = P .. 'R:' .. topic, total > 100
  local sent = call('INCR', R)
  if sent == 1 then call('PEXPIRE', R, large and 5000 or 1000) end
  if total > 0 and sent > (large and 1 or 5) then return later('c' .. topic, math.max(1, call('PTTL', R))) end
  if total > 0 then publish(topic, step(topic), '#' .. text(total)) end
  if has(flags, 'n') then report('n', topic .. '\\n' .. text(total)) end
end
`;

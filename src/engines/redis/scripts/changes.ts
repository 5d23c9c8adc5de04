import { KEEP_RECENT } from './recent-events.ts';
import { WEBHOOK_EVENTS } from './webhook-events.ts';

/** How long the counts of one second are kept. */
const MEMBER_COUNTS_MS = 2000;

/** Ends of members that stay without connections fall together by up to this. Milliseconds. */
export const STAY_ROUNDED_MS = 500;

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
-- What was stated of a large channel, at the end of its flags.
local function largeIn(flags) return has(flags, 'l') and string.match(flags, 'l%d+L?%d*$') or '' end
-- The flags of a channel that may be large: it stays what it was when it became occupied.
local function asOccupied(topic, flags)
  if not has(flags, 'l') then return flags end
  local state = call('HMGET', P .. 'T:' .. topic, '#', 'l')
  if not state[1] then return flags end
  return string.sub(flags, 1, #flags - #largeIn(flags)) .. (state[2] or '')
end
-- The first members of a large channel.
local function shownMembers(topic, flags)
  local shown = tonumber(string.match(flags, 'l(%d+)'))
  if shown == 0 then return {} end
  return membersOf(P .. 'I:' .. topic, call('ZRANGE', P .. 'Z:' .. topic, 0, shown - 1))
end
-- Numbers a member of a large channel.
local function addToLarge(topic, user, info)
  local T = P .. 'T:' .. topic
  local number = call('HINCRBY', T, 'j', 1)
  if number == 1 then number = call('HINCRBY', T, 'j', base()) end
  call('HSET', P .. 'I:' .. topic, user, text(number) .. '\\n' .. info)
  call('ZADD', P .. 'Z:' .. topic, text(number), user)
end
-- A statement did not know that the channel is large.
local function noteInLarge(topic)
  for _, change in ipairs(moved) do
    local sign, user = string.sub(change, 1, 1), string.sub(change, 2)
    local member = sign == '+' and call('HGET', P .. 'I:' .. topic, user)
    if member then addToLarge(topic, user, infoOf(member))
    elseif sign == '-' then call('ZREM', P .. 'Z:' .. topic, user) end
  end
end
-- How long the node was cut off that states something again.
local awayMs = 0
-- One more node holds the member.
local function come(topic, user, info, flags, again, socket)
  local subject, MD = topic .. '\\n' .. user, P .. 'MD:' .. topic
  -- Who was reported as gone meanwhile is back.
  again = again and not wasReported('r' .. subject, awayMs)
  if again then cancelArrival('a' .. subject) end
  if call('HINCRBY', P .. 'U:' .. topic, user, 1) > 1 then return end
  moved[#moved + 1] = '+' .. user
  local isLarge = has(flags, 'l')
  local departed = not isLarge and not nobodyDeparts and call('HGET', MD, user)
  if isLarge then
    addToLarge(topic, user, info)
    -- Loops are told only if they name changes.
    if has(flags, 'L') then tellAdded(topic, step(topic), '', user, info) end
  elseif not departed then
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
-- Tells loops of a departure at the end of this second, unless the user returns before.
local function departLater(topic, user, member)
  local delay = 1000 - nowMs() % 1000
  call('HSET', P .. 'MD:' .. topic, user, member)
  call('ZADD', WM, nowMs() + delay, topic .. '\\n' .. user)
  dueIn(delay)
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
  if has(flags, 'l') then
    call('ZREM', P .. 'Z:' .. topic, user)
    if has(flags, 'L') then tellRemoved(topic, user) end
  elseif call('HEXISTS', MD, user) == 0 then
    if not member or countChange(topic, user, flags) then tellRemoved(topic, user)
    else departLater(topic, user, member) end
  end
  if not has(flags, 'w') then return end
  leave('r' .. topic .. '\\n' .. user)
  if not has(flags, 'g') then return end
  local T, due = P .. 'T:' .. topic, nowMs() + graceMs
  if tonumber(call('HGET', T, 'r') or '0') < due then call('HSET', T, 'r', text(due)) end
end
-- Whether a channel loses a member that has stayed without connections.
local isStayOver = false
-- Reports later that a channel was vacated. Departures of its members may be due later than their order says if some have stayed, and
-- other nodes ask for them.
local function leaveChannel(topic, latest)
  local normalMs = graceMs
  local left = latest and tonumber(latest) - nowMs() or 0
  if latest and (isStayOver or left > graceMs) then graceMs = math.max(left, graceMs) + ${STAY_ROUNDED_MS} end
  leave('v' .. topic)
  graceMs = normalMs
end
-- Lets a member stay for some milliseconds that a node held alone. Returns whether it does.
local function stay(topic, user, ms)
  if ms <= 0 or call('HGET', P .. 'U:' .. topic, user) ~= '1' then return false end
  -- Rounded, so that not every end needs a call of its own.
  local due = math.ceil((nowMs() + ms) / ${STAY_ROUNDED_MS}) * ${STAY_ROUNDED_MS}
  call('ZADD', WS, due, topic .. '\\n' .. user)
  call('ZADD', W, 'LT', due, 'g')
  dueIn(due - nowMs())
  return true
end
-- A node holds a member that has stayed. Loops are told only if its info is another one: then as if it had been gone.
local function comeBack(topic, user, info, flags, socket)
  local I, MD, member = P .. 'I:' .. topic, P .. 'MD:' .. topic, nil
  member = call('HGET', I, user)
  if not member or infoOf(member) == info then return end
  if has(flags, 'l') then
    call('HSET', I, user, string.match(member, '^[^\\n]*') .. '\\n' .. info)
    if has(flags, 'L') then tellAdded(topic, step(topic), '', user, info) end
    return
  end
  local subject, departed = topic .. '\\n' .. user, call('HGET', MD, user)
  if not departed and countChange(topic, user, flags) then
    tellRemoved(topic, user)
    local seq = step(topic)
    call('HSET', I, user, seq .. '\\n' .. info)
    return tellAdded(topic, seq, socket, user, info)
  end
  call('HSET', I, user, string.match(member, '^[^\\n]*') .. '\\n' .. info)
  if departed and infoOf(departed) == info then
    call('HDEL', MD, user)
    call('ZREM', WM, subject)
  elseif not departed then departLater(topic, user, member) end
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
    if has(flags, 'l') then call('HSET', T, 'l', largeIn(flags)) end
    moved[#moved + 1] = 'o'
    if occupyLater then occupyLater(app, channel) else call('ZADD', C, call('HINCRBY', P .. 'A', app, 1), channel) end
    if has(flags, 'w') then arrive('o', 'v', topic, again) end
  elseif total <= 0 then
    moved[#moved + 1] = 'v'
    call('ZREM', C, channel)
    call('ZREM', W, 'c' .. topic)
    local latest = has(flags, 'g') and call('HGET', T, 'r')
    call('DEL', T, P .. 'U:' .. topic, P .. 'I:' .. topic, P .. 'MD:' .. topic)
    if has(flags, 'l') then call('DEL', P .. 'Z:' .. topic) end
    if historyVacated then historyVacated(topic) end
    if has(flags, 'w') then leaveChannel(topic, latest) end
  end
  return total
end
-- Sends the number of subscriptions: five times a second, or once in 5 s above 100, and the last one always.
local function counted(topic, total, flags)
  local isLarge = has(flags, 'l')
  if not (has(flags, 'c') or isLarge) or (total == 0 and not has(flags, 'n')) then return end
  local R, large = P .. 'R:' .. topic, total > 100
  local sent = call('INCR', R)
  if sent == 1 then call('PEXPIRE', R, large and 5000 or 1000) end
  if total > 0 and sent > (large and 1 or 5) then return later('c' .. topic, math.max(1, call('PTTL', R))) end
  if total > 0 then
    publish(topic, step(topic), '#' .. text(total) .. (isLarge and ',' .. call('HLEN', P .. 'I:' .. topic) or ''))
  end
  if has(flags, 'n') then report('n', topic .. '\\n' .. text(total)) end
end
`;

/**
 * Milliseconds that a node has to store a webhook event which it has claimed. Then any node claims it, and reports it under the
 * same id.
 */
const CLAIM_MS = 10_000;

/** The limit of events of one member, or of one channel, that are reported in their order. */
const IN_ORDER_MAX = 16;

/** The limit of claims that are repeated in one call, so that no script runs for long. */
const REPEATED_MAX = 500;

/**
 * Webhook events, and which node reports them: the node that calls the script, whose name is the first argument of every script that
 * reports. If the argument is empty, nobody claims them yet.
 *
 * `member_added` and `member_removed` of a user alternate, and so do `channel_occupied` and `channel_vacated`. So an event is handed
 * out only after those before it are stored, unless the same node has claimed them: it reports in the order of its claims. Until then
 * the time it is due has a fraction, and is just behind the end of the claim of the event before it. So it is also in order for
 * servers of earlier releases, which know nothing of `WK`.
 */
export const WEBHOOK_EVENTS = `
local WC = P .. 'WC:' .. (ARGV[1] or '')
-- The key of the events that are reported one after the other.
local function orderOf(id)
  local kind, subject = string.match(id, '^h%d+\\n(%a)\\n(.*)$')
  if kind == 'a' or kind == 'r' then return P .. 'WK:m' .. subject end
  if kind == 'o' or kind == 'v' then return P .. 'WK:c' .. subject end
  return nil
end
local function claim(id)
  if ARGV[1] == '' then
    dueIn(0)
    return call('ZADD', W, nowMs(), id)
  end
  local due = nowMs() + ${CLAIM_MS}
  call('ZADD', W, due, id)
  call('ZADD', WC, due, id)
  call('PEXPIRE', WC, ${2 * CLAIM_MS})
  claims[#claims + 1] = id
end
-- The end of the claim of the event before this one, if that is claimed by another node and not stored yet.
local function heldBackUntil(id, order)
  local before, isInOrder = nil, false
  for _, one in ipairs(call('ZRANGE', order, 0, -1)) do
    isInOrder = one == id
    if isInOrder then break end
    -- Servers of earlier releases take what they have stored out of W alone.
    if call('ZSCORE', W, one) then before = one else call('ZREM', order, one) end
  end
  if not isInOrder or not before then return nil end
  local due = call('ZSCORE', W, before)
  if call('ZSCORE', WC, before) == due then return nil end
  return tonumber(due)
end
local function handOut(id)
  local order = orderOf(id)
  if not order then return claim(id) end
  call('PEXPIRE', order, ${3 * CLAIM_MS})
  local due = heldBackUntil(id, order)
  if due then call('ZADD', W, math.floor(due) + 0.5, id) else claim(id) end
end
local function report(kind, subject)
  local number = number()
  local id = 'h' .. number .. '\\n' .. kind .. '\\n' .. subject
  local order = orderOf(id)
  if order and call('ZCARD', order) < ${IN_ORDER_MAX} then call('ZADD', order, number, id) end
  handOut(id)
end
-- Forgets an event that is stored or dropped, and hands out the next one.
local function settle(id)
  call('ZREM', W, id)
  call('ZREM', WC, id)
  local order = orderOf(id)
  if not order or call('ZREM', order, id) == 0 then return end
  local following = call('ZRANGE', order, 0, 0)[1]
  local due = following and call('ZSCORE', W, following)
  if due and tonumber(due) % 1 > 0 then handOut(following) end
end
-- Claims again what this node has claimed: it may not have received the answer.
local function repeatClaims()
  local claimed = call('ZRANGE', WC, 0, ${REPEATED_MAX - 1}, 'WITHSCORES')
  for i = 1, #claimed, 2 do
    if call('ZSCORE', W, claimed[i]) == claimed[i + 1] then claim(claimed[i]) else call('ZREM', WC, claimed[i]) end
  end
end
`;

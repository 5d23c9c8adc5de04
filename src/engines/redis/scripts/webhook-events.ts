/**
 * Milliseconds that a node has to store a webhook event which it has claimed. Then any node claims it, and reports it under the
 * same id.
 */
const CLAIM_MS = 10_000;

/**
 * Milliseconds until a vacated channel, a member who left or a user who signed out counts as gone. Source: Channels
 * protocol, §15 and §8.3.
 */
export const GRACE_MS = 3000;

/**
 * Milliseconds that the node which has stated a change has more than others to ask for its event. So that node knows which of its
 * events were handed to nobody, and states them again if Redis loses its data.
 */
export const OWN_MS = 2000;

/** Until when a node states a departure that it asks for itself. */
export const OWN_GRACE_MS = GRACE_MS + OWN_MS;

/** The limit of events of one member, or of one channel, that are reported in their order. */
const IN_ORDER_MAX = 16;

/**
 * Milliseconds after a loss of data, and once all nodes should have stated what they hold, for which it is known who was reported as
 * gone; and the limit of those.
 */
export const GONE_MS = 600_000;
export const GONE_MAX = 10_000;

/**
 * By how many milliseconds the times of two nodes may be wrong that are compared after a loss of data: each is an age when the node
 * sends it.
 */
const AGES_MS = 2000;

/** The limit of claims that are repeated in one call, so that no script runs for long. */
const REPEATED_MAX = 500;

/**
 * Webhook events, and which node reports them: the node that calls the script, whose name is the first argument of every script that
 * reports. If the argument is empty, nobody claims them yet.
 *
 * `member_added` and `member_removed` of a user alternate, and so do `channel_occupied` and `channel_vacated`, `user_online` and
 * `user_offline`. So an event is handed
 * out only after those before it are stored, unless the same node has claimed them: it reports in the order of its claims. Until then
 * the time it is due has a fraction, and is just behind the end of the claim of the event before it. So it is also in order for
 * servers of earlier releases, which know nothing of `WK`.
 *
 * After a loss of data, nobody knows who was there until all nodes have stated what they hold. Until then nothing is reported: who
 * arrives may have been there before, or have left just before, and who leaves may be at another node. The events of who arrives are
 * held back, and removed if another node has held the same before. `owed` names them, by kind and subject, to each node that states what
 * has arrived, also if it was not the first: it asks for them then, and if the data are lost again, it states that they are not
 * reported yet.
 *
 * A node that is cut off from Redis all that time states too late what it holds. So it is known for a while who was reported as gone. If
 * such a node then states them again, they are reported as back.
 *
 * A node may also have been cut off before the data were lost, for so long that others have reported as gone whom it holds, or who has
 * left it. These others say so (`REPORTED`), and the node says since when it was cut off.
 *
 * The number of an event that a user is offline is followed by a comma and the time when the user was last seen.
 *
 * The functions exist once `knowWebhooks` was called: making them takes longer than many a statement about an app without webhooks.
 */
export const WEBHOOK_EVENTS = `
local WG, owed = P .. 'WG', {}
-- Set by the script that states again what a node has held all the time.
local isStatedAgain = false
-- Who comes back within this time has never been away.
local backMs = ${GRACE_MS}
local handOut, report, incompleteMs, noteFor, leave, reportGone, wasReported, holdBack, arrive, owe, cancelArrival, askFor, settle, repeatClaims
local function knowWebhooks()
  local WC, WY, WR, areNoted, areReported = P .. 'WC:' .. (ARGV[1] or ''), P .. 'WY', P .. 'WR', nil, nil
  -- The key of the events that are reported one after the other.
  local function orderOf(id)
    local kind, subject = string.match(id, '^h[%d,]+\\n(%a)\\n(.*)$')
    if kind == 'a' or kind == 'r' then return P .. 'WK:m' .. subject end
    if kind == 'o' or kind == 'v' then return P .. 'WK:c' .. subject end
    if kind == 'u' or kind == 'd' then return P .. 'WK:u' .. subject end
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
  function handOut(id)
    local order = orderOf(id)
    if not order then return claim(id) end
    call('PEXPIRE', order, ${3 * CLAIM_MS})
    local due = heldBackUntil(id, order)
    if due then call('ZADD', W, math.floor(due) + 0.5, id) else claim(id) end
  end
  -- When the last connection ended of a user who has left.
  local function lastSeen(topic)
    return string.match(call('GET', P .. 'UL:' .. topic) or '', '%d+$') or text(nowMs())
  end
  local function newEvent(kind, subject)
    local number = number()
    local seen = kind == 'd' and ',' .. lastSeen(subject) or ''
    local id = 'h' .. number .. seen .. '\\n' .. kind .. '\\n' .. subject
    local order = orderOf(id)
    if order and call('ZCARD', order) < ${IN_ORDER_MAX} then call('ZADD', order, number, id) end
    if order then call('PEXPIRE', order, ${3 * CLAIM_MS}) end
    return id
  end
  function report(kind, subject) handOut(newEvent(kind, subject)) end
  -- How long it takes until all nodes have stated what they hold. Below 0 if they have.
  local function untilCompleteMs() return tonumber(call('GET', P .. 'Y') or '0') - nowMs() end
  function incompleteMs() return math.max(0, untilCompleteMs()) end
  local function isHeldBack(id)
    local due = call('ZSCORE', W, id)
    return due and tonumber(due) % 1 > 0
  end
  -- Notes until all nodes have stated what they hold.
  function noteFor(left, name, value)
    areNoted = true
    call('HSET', WY, name, value)
    call('PEXPIRE', WY, left + ${2 * CLAIM_MS})
  end
  -- Reports later that somebody has gone, unless they come back.
  function leave(name)
    later(name, graceMs)
    local left = incompleteMs()
    if left > 0 then noteFor(left, name, text(nowMs())) end
  end
  function reportGone(kind, subject)
    local known = untilCompleteMs() + ${GONE_MS}
    if known > 0 and call('HLEN', WG) < ${GONE_MAX} then
      call('HSET', WG, kind .. subject, '1')
      call('PEXPIRE', WG, known)
    end
    report(kind, subject)
  end
  -- Whether a departure was reported before the data were lost, less than this many milliseconds ago.
  function wasReported(name, ageMs)
    if areReported == nil then areReported = call('EXISTS', WR) == 1 end
    return areReported and tonumber(call('HGET', WR, name) or '0') > nowMs() - ageMs + ${AGES_MS}
  end
  -- Whether an arrival is held back.
  local function isWaiting(name)
    if areNoted == nil then areNoted = call('EXISTS', WY) == 1 end
    return areNoted and call('HEXISTS', WY, name) == 1
  end
  -- When others report what the nodes that owe it have not asked for.
  local function dueOf(left) return text(nowMs() + left + ${OWN_MS}) .. '.5' end
  -- Reports an arrival later, unless it is cancelled.
  function holdBack(kind, subject)
    local left, id = incompleteMs(), newEvent(kind, subject)
    call('ZADD', W, dueOf(left), id)
    noteFor(left, kind .. subject, id)
  end
  -- Reports that a member was added or a channel is occupied, by the kind of that and of the opposite.
  function arrive(kind, opposite, subject, again)
    local wasLeaving = call('ZREM', W, opposite .. subject) == 1
    if call('HDEL', WG, opposite .. subject) == 1 then return report(kind, subject) end
    if again then return end
    local left = incompleteMs()
    if left == 0 then
      if not wasLeaving then report(kind, subject) end
      return
    end
    if wasLeaving then
      local goneMs = nowMs() - tonumber(call('HGET', WY, opposite .. subject) or text(nowMs()))
      -- Who is stated again may have been back in time, and the stay before is not reported either.
      if goneMs <= backMs or (isStatedAgain and isWaiting(kind .. subject)) then return end
      call('ZADD', W, dueOf(left), newEvent(opposite, subject))
    end
    holdBack(kind, subject)
  end
  -- The node holds something whose arrival may be held back.
  function owe(name)
    if isWaiting(name) then owed[#owed + 1] = name end
  end
  -- It was there before the data were lost.
  function cancelArrival(name)
    local id = isWaiting(name) and call('HGET', WY, name)
    if not id then return end
    call('HDEL', WY, name)
    local order = orderOf(id)
    for _, one in ipairs(call('ZRANGE', order, 0, -1)) do
      if isHeldBack(one) then
        call('ZREM', W, one)
        call('ZREM', order, one)
      end
    end
  end
  -- Hands a change out to the node that has stated it.
  function askFor(name)
    local kind = string.sub(name, 1, 1)
    if kind == 'r' or kind == 'v' or kind == 'd' then
      -- Who has come back to another node and left again is asked for by that one.
      local due = call('ZSCORE', W, name)
      if not due or tonumber(due) - nowMs() > ${OWN_MS} then return end
      call('ZREM', W, name)
      reportGone(kind, string.sub(name, 2))
      return
    end
    local id = call('HGET', WY, name)
    if not id then return end
    call('HDEL', WY, name)
    for _, one in ipairs(call('ZRANGE', orderOf(id), 0, -1)) do
      if isHeldBack(one) then handOut(one) end
    end
  end
  -- Forgets an event that is stored or dropped, and hands out the next one.
  function settle(id)
    call('ZREM', W, id)
    call('ZREM', WC, id)
    local order = orderOf(id)
    if not order or call('ZREM', order, id) == 0 then return end
    local following = call('ZRANGE', order, 0, 0)[1]
    if following and isHeldBack(following) then handOut(following) end
  end
  -- Claims again what this node has claimed: it may not have received the answer.
  function repeatClaims()
    local claimed = call('ZRANGE', WC, 0, ${REPEATED_MAX - 1}, 'WITHSCORES')
    for i = 1, #claimed, 2 do
      if call('ZSCORE', W, claimed[i]) == claimed[i + 1] then claim(claimed[i]) else call('ZREM', WC, claimed[i]) end
    end
  end
end
`;

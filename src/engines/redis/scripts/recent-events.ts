import { script } from './script.ts';

/** How long a partition keeps events and changes of members for nodes that have missed them, and how many bytes of both. */
const RECENT_MS = 120_000;
const RECENT_BYTES = 2 * 1024 * 1024;
/** Events of one app are kept in chunks of about this size, which are forgotten whole. Bytes. */
export const CHUNK_BYTES = 16 * 1024;
/** Bytes are counted in steps, so that most events change no count. A begun step counts whole. */
const STEP_BYTES = 4 * 1024;
/** Chunks that one call forgets, so that no script runs for long. */
const FORGOTTEN_MAX = 20;
/** Apps whose counts one tick checks. */
const SWEPT_MAX = 20;
/** Bytes after which one call reads no further chunk, so that no script runs for long. */
const PAGE_BYTES = 128 * 1024;

/** What the ids of nodes begin with that read events by app. */
export const READS_BY_APP = '2:';

/** Longer than the lease of such a node and the time that events are kept. Milliseconds. */
const OLD_NODES_MS = 150_000;

/** What scripts share that know recent events. */
const RECENT = `
local GB, GT = P .. 'GB', P .. 'GT'
local function inSteps(bytes) return math.ceil(bytes / ${STEP_BYTES}) * ${STEP_BYTES} end
local function countRecent(app, bytes)
  if tonumber(call('ZINCRBY', GB, bytes, app)) <= 0 then call('ZREM', GB, app) end
  return call('INCRBY', GT, bytes)
end
-- Counts an app anew. Its older chunks have expired.
local function recountRecent(app)
  local known = tonumber(call('ZSCORE', GB, app) or '0')
  local bytes = inSteps(call('STRLEN', P .. 'GE:' .. app))
  if bytes ~= known then countRecent(app, bytes - known) end
  return known - bytes
end
`;

/**
 * Keeps events, or changes of members, for nodes that miss them, so that their clients see both in the order that others have seen.
 * `keepRecent` takes the app, what is kept, and whether nodes of earlier releases run. What is kept of an event is
 * `bytes of the topic:bytes of what was published:topic`, followed by what was published. Beyond the room of the partition, the app with most bytes loses its oldest events, so no app takes from another what
 * its clients have missed.
 *
 * Nodes of earlier releases look for events in one list of all apps, of which the latest bytes are kept.
 */
export const KEEP_RECENT = `
-- Counts the step that an event has begun, and makes room for it. Few calls need this, so its functions are made here.
local function countStep(app, size, bytesBefore)
${RECENT}  -- Forgets the oldest chunk of an app. Returns how many bytes fewer are counted.
  local function shiftRecent(app)
    local chunk, timeMs, bytes = call('LPOP', P .. 'GL:' .. app), nil, nil
    if chunk then
      timeMs = string.match(chunk, '^%d+')
      bytes = #chunk - #timeMs - 1
    else
      timeMs, bytes = text(nowMs()), call('STRLEN', P .. 'GE:' .. app)
      if bytes == 0 then return recountRecent(app) end
      call('DEL', P .. 'GE:' .. app)
    end
    call('HINCRBY', P .. 'GD:' .. app, 'i', 1)
    call('HSET', P .. 'GD:' .. app, 'd', timeMs)
    call('PEXPIRE', P .. 'GD:' .. app, ${RECENT_MS})
    countRecent(app, 0 - inSteps(bytes))
    return inSteps(bytes)
  end
  local function closeChunk(app)
    local now, L = nowMs(), P .. 'GL:' .. app
    call('RPUSH', L, text(now) .. ' ' .. call('GET', P .. 'GE:' .. app))
    call('PEXPIRE', L, ${RECENT_MS})
    call('DEL', P .. 'GE:' .. app)
    for _ = 1, ${FORGOTTEN_MAX} do
      if now - string.match(call('LINDEX', L, 0), '^%d+') <= ${RECENT_MS} then return end
      shiftRecent(app)
    end
  end
  local before = inSteps(bytesBefore)
  if before == 0 and call('EXISTS', P .. 'GL:' .. app) == 0 then countRecent(app, 0 - tonumber(call('ZSCORE', GB, app) or '0')) end
  local total = countRecent(app, inSteps(size) - before)
  if size >= ${CHUNK_BYTES} then closeChunk(app) end
  for _ = 1, ${FORGOTTEN_MAX} do
    if total <= ${RECENT_BYTES} then break end
    local largest = call('ZREVRANGE', GB, 0, 0)[1]
    if not largest then call('DEL', GT) break end
    total = total - shiftRecent(largest)
  end
end
local function keepRecent(app, events, hasOldNodes)
  local GE = P .. 'GE:' .. app
  local size = call('APPEND', GE, events)
  -- For longer than needed, so that this is seldom set: looking costs half as much.
  if call('PTTL', GE) < ${RECENT_MS} then call('PEXPIRE', GE, ${2 * RECENT_MS}) end
  if (size - 1) % ${STEP_BYTES} < #events then countStep(app, size, size - #events) end
  if not hasOldNodes then return end
  local bytes = call('APPEND', P .. 'G1', events)
  call('PEXPIRE', P .. 'G1', ${RECENT_MS})
  if bytes > ${RECENT_BYTES / 2} then
    call('RENAME', P .. 'G1', P .. 'G0')
    call('HINCRBY', P .. 'G', 'o', bytes)
    call('HSET', P .. 'G', 'd', call('HGET', P .. 'G', 't') or '0', 't', text(nowMs()))
  end
end
`;

/** Notes whether nodes of earlier releases have a lease. */
export const NOTE_OLD_NODES = `
local function noteOldNodes()
  for _, node in ipairs(call('ZRANGE', P .. 'L', 0, -1)) do
    if string.sub(node, 1, ${READS_BY_APP.length}) ~= '${READS_BY_APP}' then return call('SET', P .. 'GO', 1, 'PX', ${OLD_NODES_MS}) end
  end
end
`;

/** Counts anew what has expired. */
export const SWEEP_RECENT = `${RECENT}
local function sweepRecent()
  for _, app in ipairs(call('ZRANDMEMBER', GB, ${SWEPT_MAX})) do
    if call('EXISTS', P .. 'GL:' .. app) == 0 then recountRecent(app) end
  end
end
`;

/**
 * Reads recent events of apps, or of some of their topics. Arguments: node, epoch, how many apps; for each its id, how many of its
 * chunks were forgotten at the last call, and the position; then for each topic its name, and the number after which events are
 * wanted.
 *
 * Returns whether `RECENT_OF_ALL` has events of nodes of earlier releases; for each app how many chunks were forgotten, the next
 * position, empty at the end, and since how many milliseconds all its events are there; for each event its topic, and what was
 * published.
 */
export const RECENT_OF_APPS = script(`
local refused = refusal(ARGV[1], ARGV[2])
if refused then return {refused} end
local apps, left, wanted, states, rows = tonumber(ARGV[3]), ${PAGE_BYTES}, {}, {}, {}
for i = 4 + 3 * apps, #ARGV, 2 do wanted[ARGV[i]] = tonumber(ARGV[i + 1]) end
local isAll = #ARGV < 4 + 3 * apps
local function read(chunk, at)
  while at <= #chunk do
    local _, head, topicBytes, bytes = string.find(chunk, '^(%d+):(%d+):', at)
    if not head then return end
    local last = head + topicBytes + bytes
    local topic = string.sub(chunk, head + 1, head + topicBytes)
    local after = isAll and 0 or wanted[topic]
    if after and tonumber(string.match(chunk, '^%d+', head + topicBytes + 1)) > after then
      rows[#rows + 1] = topic
      rows[#rows + 1] = string.sub(chunk, head + topicBytes + 1, last)
    end
    at = last + 1
  end
end
for i = 4, 1 + 3 * apps, 3 do
  local app, position = ARGV[i], tonumber(ARGV[i + 2])
  local L, state = P .. 'GL:' .. app, call('HMGET', P .. 'GD:' .. app, 'i', 'd')
  local first, length, isOver = tonumber(state[1] or '0'), call('LLEN', L), false
  -- The number of forgotten chunks has expired, and has begun anew.
  if first < tonumber(ARGV[i + 1]) then position = 0 end
  local index = math.max(0, position - first)
  while left > 0 and not isOver do
    isOver = index >= length
    local chunk = isOver and call('GET', P .. 'GE:' .. app) or call('LINDEX', L, index) or ''
    read(chunk, isOver and 1 or #string.match(chunk, '^%d*') + 2)
    index = index + 1
    left = left - #chunk
  end
  local reachMs = math.min(${RECENT_MS}, nowMs() - tonumber(state[2] or '0'))
  states[#states + 1] = {text(first), isOver and '' or text(first + index), text(reachMs)}
end
return {'ok', call('EXISTS', P .. 'GO'), states, rows}
`);

/**
 * Reads recent events of all topics, or of some, that nodes of earlier releases have published. Arguments: node, epoch, position;
 * then for each topic its name, and the number after which events are wanted. Returns the next position, empty at the end; since how
 * many milliseconds all events are there; for each event its topic, and what was published.
 */
export const RECENT_OF_ALL = script(`
local refused = refusal(ARGV[1], ARGV[2])
if refused then return {refused} end
local state, position = call('HMGET', P .. 'G', 'o', 'd'), tonumber(ARGV[3])
local middle, older, newer = tonumber(state[1] or '0'), call('STRLEN', P .. 'G0'), call('STRLEN', P .. 'G1')
local key, from = P .. 'G1', middle
if position < middle then
  key, from = P .. 'G0', middle - older
  position = math.max(position, from)
end
local function read(bytes) return call('GETRANGE', key, position - from, position - from + bytes - 1) end
local page, at, rows, wanted = read(${PAGE_BYTES}), 1, {}, {}
for i = 4, #ARGV, 2 do wanted[ARGV[i]] = tonumber(ARGV[i + 1]) end
while at <= #page do
  local _, head, topicBytes, bytes = string.find(page, '^(%d+):(%d+):', at)
  if not head then break end
  local last = head + topicBytes + bytes
  -- An event larger than a page is read alone.
  if last > #page and at == 1 then page = read(last) end
  if last > #page then break end
  local topic = string.sub(page, head + 1, head + topicBytes)
  local after = #ARGV == 3 and 0 or wanted[topic]
  if after and tonumber(string.match(page, '^%d+', head + topicBytes + 1)) > after then
    rows[#rows + 1] = topic
    rows[#rows + 1] = string.sub(page, head + topicBytes + 1, last)
  end
  at = last + 1
end
local next = position + at - 1
local reachMs = math.min(${RECENT_MS}, nowMs() - tonumber(state[2] or '0'))
return {'ok', (at == 1 and position >= middle or next >= middle + newer) and '' or text(next), text(reachMs), rows}
`);

import { PARTITIONS } from '../../partition.ts';
import { PUBLISHED_KEY_MS } from '../../published-keys.ts';
import { REMEMBERED_MAX } from '../../remembered.ts';

/** Keys that a partition remembers, of all apps. */
const KEYS_MAX = Math.ceil(REMEMBERED_MAX.items / PARTITIONS);

/** Expired keys of an app that one call forgets. */
const EXPIRED_AT_ONCE = 20;

/**
 * What scripts know of idempotency keys. `once` is topic and key. At the limit, the app with most keys loses its oldest one.
 */
export const PUBLISHED_ONCE = `
local function publishedId(once)
  local endsMs, id = string.match(call('GET', P .. 'I1:' .. once) or '', '^(%d+) (.*)$')
  return endsMs and tonumber(endsMs) > nowMs() and id
end
local function uncountKeys(app, number)
  call('DECRBY', P .. 'I4', text(number))
  if tonumber(call('ZINCRBY', P .. 'I3', 0 - number, app)) <= 0 then call('ZREM', P .. 'I3', app) end
end
local function forgetOldestKey(app)
  local oldest = call('LPOP', P .. 'I2:' .. app)
  if not oldest then return false end
  call('DEL', P .. 'I1:' .. oldest)
  uncountKeys(app, 1)
  return true
end
local function forgetExpiredKeys(app)
  -- All keys of these apps have expired: their number is all that is left.
  for _, idle in ipairs(call('ZRANGEBYSCORE', P .. 'I5', '-inf', nowMs() - ${PUBLISHED_KEY_MS}, 'LIMIT', 0, ${EXPIRED_AT_ONCE})) do
    call('ZREM', P .. 'I5', idle)
    call('DEL', P .. 'I2:' .. idle)
    uncountKeys(idle, tonumber(call('ZSCORE', P .. 'I3', idle) or '0'))
  end
  for _ = 1, ${EXPIRED_AT_ONCE} do
    local oldest = call('LINDEX', P .. 'I2:' .. app, 0)
    if not oldest or call('EXISTS', P .. 'I1:' .. oldest) == 1 then break end
    forgetOldestKey(app)
  end
end
local function notePublished(app, once, id)
  forgetExpiredKeys(app)
  call('SET', P .. 'I1:' .. once, text(nowMs() + ${PUBLISHED_KEY_MS}) .. ' ' .. id, 'PX', ${PUBLISHED_KEY_MS})
  call('RPUSH', P .. 'I2:' .. app, once)
  call('ZADD', P .. 'I5', text(nowMs()), app)
  call('ZINCRBY', P .. 'I3', 1, app)
  call('INCR', P .. 'I4')
  while tonumber(call('GET', P .. 'I4')) > ${KEYS_MAX} do
    local largest = call('ZREVRANGE', P .. 'I3', 0, 0)[1]
    if not largest or not forgetOldestKey(largest) then break end
  end
end
`;

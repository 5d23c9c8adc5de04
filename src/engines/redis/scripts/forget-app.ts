import { FORGET_CACHED } from './cached-events.ts';
import { PUBLISHED_ONCE } from './published-once.ts';
import { script } from './script.ts';

/** Cached events and idempotency keys that one call forgets, so that no script runs for long. */
const FORGOTTEN_AT_ONCE = 200;

/**
 * Forgets what is remembered of a deleted app: cached events, idempotency keys, histories, recent events, and what it has used of quotas and
 * rates. Needs no lease. Arguments: the app, and the day. Returns `more` if it must be called again.
 */
export const FORGET_APP = script(`${FORGET_CACHED}${PUBLISHED_ONCE}
local app = ARGV[1]
local topics = call('ZRANGE', P .. 'k:' .. app, 0, ${FORGOTTEN_AT_ONCE - 1})
for _, topic in ipairs(topics) do forgetCached(app, topic) end
local keys = 0
while keys < ${FORGOTTEN_AT_ONCE} and forgetOldestKey(app) do keys = keys + 1 end
-- What is counted of recent events is counted anew by a tick.
call('DEL', P .. 'Q:' .. ARGV[2] .. '/' .. app, P .. 'B:' .. app, P .. 'GE:' .. app, P .. 'GL:' .. app, P .. 'LS:' .. app)
-- Histories of an earlier generation do not count.
call('HINCRBY', P .. 'HA', app, 1)
if #topics + keys >= ${FORGOTTEN_AT_ONCE} then return {'more'} end
return {'ok'}
`);

import { script } from './script.ts';

/** Deletes a claim that a loop still has. Key: what all claims begin with. Arguments: the loop, the claim. */
export const RELEASE = script(`
if call('GET', P .. ARGV[2]) == ARGV[1] then call('DEL', P .. ARGV[2]) end
return {'ok'}
`);

/** How long a loop can find what others have noted for it. Milliseconds. */
const NOTED_MS = 600_000;
/** The limit of sessions that are noted for one loop. */
const NOTED_MAX = 8192;

/** Notes for a loop that a session of it has lost a message. Key: the loop's notes. Argument: the session. */
export const NOTE_LOSS = script(`
if call('ZCARD', P) < ${NOTED_MAX} then call('ZADD', P, 0, ARGV[1]) end
call('PEXPIRE', P, ${NOTED_MS})
return {'ok'}
`);

/** Returns what was noted for a loop. Key: its notes. */
export const LOSSES = script(`
return {'ok', call('ZRANGE', P, 0, -1)}
`);

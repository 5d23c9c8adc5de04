import { doubledMs } from '../../../runtime/time/back-off.ts';

/** The bounds of a pause. Source: push protocol, §8.1 to §8.3. */
export const BACK_OFF_MS_MIN = 1_000;
export const BACK_OFF_MS_MAX = 15 * 60_000;

/** A pause that the gateway asked for gets up to this share longer, so that devices do not come back all at once. */
const JITTER = 0.1;

/**
 * How long a device waits for its next attempt: between 1 s and a limit that doubles with each attempt from 2 s up to
 * 15 minutes, or longer if the gateway asked for it. `attempts` includes the failed one; `random` is from 0 to 1,
 * 1 excluded.
 */
export function backOffMs(attempts: number, askedMs: number | undefined, random: number): number {
  const longestMs = doubledMs(BACK_OFF_MS_MIN, { times: attempts, maxMs: BACK_OFF_MS_MAX });
  const ownMs = BACK_OFF_MS_MIN + random * (longestMs - BACK_OFF_MS_MIN);
  const jitteredMs = askedMs === undefined ? 0 : askedMs * (1 + random * JITTER);
  return Math.ceil(Math.max(ownMs, jitteredMs));
}

/** Source: push protocol, §8.1 to §8.3: from one second, doubling, to a quarter of an hour. */
export const BACK_OFF_MS_MIN = 1_000;
export const BACK_OFF_MS_MAX = 15 * 60_000;

/** What asked for the same pause comes back over this slice of it, and not at one moment. */
const SPREAD = 0.1;

/**
 * How long a device waits for its next attempt. The longest pause doubles with each attempt, from 2 s up to 15
 * minutes; which slice of it is taken is random, but never less than a second. A gateway that asked for a longer
 * one gets it.
 */
export function backOffMs(
  /** With the one that has just failed. */
  attempts: number,
  /** What the gateway asked for. */
  afterMs: number | undefined,
  /** From 0 to 1, 1 excluded. */
  random: number,
): number {
  const longestMs = Math.min(BACK_OFF_MS_MAX, BACK_OFF_MS_MIN * 2 ** Math.min(attempts, 20));
  const ownMs = BACK_OFF_MS_MIN + random * (longestMs - BACK_OFF_MS_MIN);
  const askedMs = afterMs === undefined ? 0 : afterMs * (1 + random * SPREAD);
  return Math.ceil(Math.max(ownMs, askedMs));
}

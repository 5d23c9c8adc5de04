import { RETRY_MS, RETRY_PAUSE_MAX_MS } from './limits.ts';

export interface FailedTries {
  /** How many there were, with the one that has just failed. */
  readonly tries: number;
  readonly firstTryAtMs: number;
  readonly nowMs: number;
  /** From 0 to 1, 1 excluded. */
  readonly random: number;
}

/**
 * When to try again: after 1 s, 2 s, 4 s and so on up to a minute, each less a random part of up to half,
 * so that what failed together does not come back together. The last try is five minutes after the
 * first; `undefined` where that one failed.
 */
export function nextTryAt({ tries, firstTryAtMs, nowMs, random }: FailedTries): number | undefined {
  const lastAtMs = firstTryAtMs + RETRY_MS;
  if (nowMs >= lastAtMs) return undefined;
  const pauseMs = Math.min(RETRY_PAUSE_MAX_MS, 1_000 * 2 ** (tries - 1));
  return Math.min(lastAtMs, nowMs + Math.round(pauseMs * (1 - random / 2)));
}

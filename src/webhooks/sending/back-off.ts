import { doubledMs } from '../../runtime/time/back-off.ts';
import { PUSH_RETRY_PAUSES_MS, RETRY_MS, RETRY_PAUSE_MAX_MS } from '../limits.ts';
import type { OutboxKind } from '../outbox.ts';

/** The first pause. */
const RETRY_PAUSE_MS = 1_000;

export interface FailedTries {
  /** Including the one that has just failed. */
  readonly tries: number;
  readonly firstTryAtMs: number;
  readonly nowMs: number;
  /** From 0 to 1, 1 excluded. */
  readonly random: number;
}

/** When to try again, by kind; `undefined` after the last try. */
export const nextTryAt: Readonly<Record<OutboxKind, (failed: FailedTries) => number | undefined>> =
  {
    channels: withGrowingPauses,
    push: withFixedPauses,
    publish: withFixedPauses,
  };

/**
 * Doubles the pause from 1 s to a minute, and shortens it at random by up to half, so that requests that failed together
 * are not retried together. The last try is five minutes after the first.
 */
function withGrowingPauses({ tries, firstTryAtMs, nowMs, random }: FailedTries) {
  const lastAtMs = firstTryAtMs + RETRY_MS;
  if (nowMs >= lastAtMs) return undefined;
  const pauseMs = doubledMs(RETRY_PAUSE_MS, { times: tries - 1, maxMs: RETRY_PAUSE_MAX_MS });
  return Math.min(lastAtMs, nowMs + Math.round(pauseMs * (1 - random / 2)));
}

function withFixedPauses({ tries, nowMs }: FailedTries): number | undefined {
  const pauseMs = PUSH_RETRY_PAUSES_MS[tries - 1];
  return pauseMs === undefined ? undefined : nowMs + pauseMs;
}

import { WAITED_FOR_ITS_TURN } from '../../../model/delivery.ts';
import type { Recipient } from '../../../model/device.ts';
import type { InFlightJob } from '../../jobs/in-flight-job.ts';
import type { After } from '../after-outcome.ts';
import { backOffMs } from '../back-off.ts';
import { expiredOf } from '../lifetime.ts';
import type { Slice } from '../route.ts';
import { settleDevice } from './device-result.ts';

/** The reason of devices whose job ended before they had an outcome. */
const NO_OUTCOME = 'no-outcome';

/** A retry after the deadline moves to 1 s before it, provided 2 s are left. */
const LAST_RETRY_MS = 1_000;

interface Why {
  readonly reason: string;
  readonly words: string;
}

/** A moment by the steady clock, and by the system's. */
interface Moment {
  readonly nowMs: number;
  readonly wallMs: number;
}

/** Settles the waiting devices of a slice for a later retry, so that the rest of their job need not wait for them. */
export function returnLater(slice: Slice, { nowMs, wallMs }: Moment): void {
  const why = whyWaiting(slice);
  const lastMs = slice.lifetime.endsAtMs - LAST_RETRY_MS;
  const isInTime = lastMs > wallMs + LAST_RETRY_MS;
  for (const recipient of waitingOf(slice)) {
    const dueAtMs = Math.min(wallMs + slice.returnAfterMs(nowMs), lastMs);
    settle(slice.job, recipient, isInTime ? retry(dueAtMs, why) : expiredOf(slice.lifetime, why));
  }
}

/** Settles the waiting devices of a slice for a retry at once, by any server. */
export function returnNow(slice: Slice, reason: string, wallMs: number): void {
  for (const recipient of waitingOf(slice)) {
    settle(slice.job, recipient, retry(wallMs, { reason, words: '' }));
  }
}

/**
 * Settles all devices without a result for a retry. They may get the notification twice: their sends had no outcome.
 */
export function returnUnanswered(job: InFlightJob, wallMs: number, random: () => number): void {
  const settled = new Set(job.results.map(({ device }) => device));
  for (const recipient of [...job.recipients]) {
    if (recipient === undefined || settled.has(recipient.number)) continue;
    const attempts = job.attemptsOf(recipient) + 1;
    const dueAtMs = wallMs + backOffMs(attempts, undefined, random());
    const after = retry(dueAtMs, { reason: NO_OUTCOME, words: '' });
    settleDevice(job, recipient, attempts, after);
  }
}

/** Settles the waiting devices of a slice as expired, if their time to live has run out. */
export function expireWaiting(slice: Slice, wallMs: number): void {
  const { endsAtMs, firstTryUntilMs } = slice.lifetime;
  if (wallMs < Math.max(endsAtMs, firstTryUntilMs)) return;
  const why = whyWaiting(slice);
  for (const recipient of waitingOf(slice)) {
    settle(slice.job, recipient, expiredOf(slice.lifetime, why));
  }
}

function whyWaiting({ route }: Slice): Why {
  const { fault } = route.circuit;
  return fault === undefined
    ? { reason: WAITED_FOR_ITS_TURN, words: '' }
    : { reason: fault.reason, words: fault.words };
}

function waitingOf(slice: Slice): readonly Recipient[] {
  return slice.takeAll().flatMap((place) => slice.job.recipients[place] ?? []);
}

function settle(job: InFlightJob, recipient: Recipient, after: After): void {
  settleDevice(job, recipient, job.attemptsOf(recipient), after);
}

function retry(dueAtMs: number, { reason, words }: Why): After {
  return { what: 'retry', dueAtMs, reason, words };
}

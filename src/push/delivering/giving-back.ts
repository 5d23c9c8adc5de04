import type { Recipient } from '../model/device.ts';
import type { After } from './after-outcome.ts';
import { backOffMs } from './back-off.ts';
import { resultOf } from './results.ts';
import type { PartOfWork, Work } from './work.ts';

/** Reasons of devices that come back because their job ended before it was their turn, or before they had an outcome. */
const WAITED_FOR_ITS_TURN = 'waited-for-its-turn';
const NO_OUTCOME = 'no-outcome';

/** What would come back after its time comes back this much before it, where there is twice as much left. */
const LAST_MOMENT_MS = 1_000;

interface Why {
  readonly reason: string;
  readonly words: string;
}

/** Lets the devices that wait on a way come back later on their own: nothing else of their job waits for them. */
export function returnLater(work: Work, part: PartOfWork, nowMs: number): void {
  const why = part.pausedFor ?? { reason: WAITED_FOR_ITS_TURN, words: '' };
  for (const recipient of waitingOf(work, part)) {
    const lastMs = part.endsAtMs - LAST_MOMENT_MS;
    const dueAtMs = Math.min(part.returnMs(nowMs), lastMs);
    const isWorthIt = lastMs > nowMs + LAST_MOMENT_MS;
    settle(work, recipient, isWorthIt ? retry(dueAtMs, why) : { what: 'expired', ...why });
  }
}

/** Lets all devices that wait come back at once, as where somebody else is to go on. */
export function returnNow(work: Work, reason: string, nowMs: number): void {
  for (const part of work.parts) {
    for (const recipient of waitingOf(work, part)) {
      settle(work, recipient, retry(nowMs, { reason, words: '' }));
    }
  }
}

/** The same for those that were sent to without an outcome: they may have got it, and are tried again. */
export function returnUnanswered(work: Work, nowMs: number, random: () => number): void {
  const settled = new Set(work.results.map(({ device }) => device));
  for (const recipient of [...work.recipients]) {
    if (recipient === undefined || settled.has(recipient.number)) continue;
    const attempts = work.attemptsOf(recipient) + 1;
    const dueAtMs = nowMs + backOffMs(attempts, undefined, random());
    const after = retry(dueAtMs, { reason: NO_OUTCOME, words: '' });
    work.settle(resultOf(recipient, attempts, after));
  }
}

/** Whether the time of what waits on a way has run out; then it has its results. */
export function expireWaiting(work: Work, part: PartOfWork, nowMs: number): boolean {
  const why = part.pausedFor ?? { reason: WAITED_FOR_ITS_TURN, words: '' };
  if (nowMs < Math.max(part.endsAtMs, part.firstTryUntilMs)) return false;
  for (const recipient of waitingOf(work, part))
    settle(work, recipient, { what: 'expired', ...why });
  return true;
}

function waitingOf(work: Work, part: PartOfWork): readonly Recipient[] {
  return part.takeAll().flatMap((place) => work.recipients[place] ?? []);
}

function settle(work: Work, recipient: Recipient, after: After): void {
  work.settle(resultOf(recipient, work.attemptsOf(recipient), after));
}

function retry(dueAtMs: number, why: Why): After {
  return { what: 'retry', dueAtMs, ...why };
}

import type { LaterDue, LeftOut, LeftOutDevices } from '../../model/delivery.ts';
import type { Recipient } from '../../model/device.ts';
import type { Pace } from '../../model/pace.ts';
import { type DueTimes, QUIET_HOURS, SPREAD_SECONDS } from '../due-times.ts';

/** A page by when its devices are due. Each list is `undefined` if it would be empty. */
export interface Split {
  /** Those that are due, and those that do not get it. */
  readonly now: readonly Recipient[];
  readonly dues: readonly LaterDue[] | undefined;
  readonly leftOut: readonly LeftOutDevices[] | undefined;
}

/** What decides when devices are due. */
export interface Timing {
  readonly dueTimes: DueTimes;
  /** The times that are given to the page are taken. `undefined`: all devices may get it at once. */
  readonly pace?: Pace | undefined;
}

/** A page while it is split. */
interface Splitting {
  readonly now: Recipient[];
  readonly later: Map<number, Recipient[]>;
  readonly tooLate: Map<string, number[]>;
}

/** Splits a page by when its devices are due, if they are looked at now. */
export function splitByDue(
  recipients: readonly Recipient[],
  { dueTimes, pace }: Timing,
  nowMs: number,
): Split {
  if (pace === undefined && dueTimes.areDue(recipients, nowMs)) {
    return { now: recipients, dues: undefined, leftOut: undefined };
  }
  // All devices of a page begin together, as a page that is due at 300 times would be claimed 300 times.
  const spread = pace === undefined ? (recipients[0]?.number ?? 0) % SPREAD_SECONDS : 0;
  const splitting: Splitting = { now: [], later: new Map(), tooLate: new Map() };
  const { now, later, tooLate } = splitting;
  for (const recipient of recipients) {
    const due = dueTimes.of(recipient, nowMs);
    if (due.what === 'too-late') {
      addTo(tooLate, due.words, recipient.number);
      // With `pace`, those that are due wait for their turn.
      if (pace === undefined) now.push(recipient);
      continue;
    }
    const atMs = due.isQuiet ? due.atMs + spread * 1000 : due.atMs;
    if (atMs <= nowMs) now.push(recipient);
    else addTo(later, atMs, recipient);
  }
  const { now: due, dues } =
    pace === undefined
      ? { now, dues: [...later].map(([atMs, some]) => dueOf(atMs, some)) }
      : paced(recipients, splitting, { dueTimes, pace, nowMs });
  const leftOut = [...tooLate].map(
    ([words, devices]) => ({ what: 'expired', reason: QUIET_HOURS, words, devices }) as const,
  );
  return {
    now: due,
    dues: dues.length === 0 ? undefined : dues.sort((a, b) => a.atMs - b.atMs),
    leftOut: leftOut.length === 0 ? undefined : leftOut,
  };
}

/** Gives devices the times at which their publish may send to them. Those may be in the quiet hours of some, who wait longer. */
function paced(
  recipients: readonly Recipient[],
  { now, later, tooLate }: Splitting,
  {
    dueTimes,
    pace,
    nowMs,
  }: { readonly dueTimes: DueTimes; readonly pace: Pace; readonly nowMs: number },
): { readonly now: readonly Recipient[]; readonly dues: LaterDue[] } {
  pace.forgetBefore(nowMs);
  const groups = new Map(later);
  if (now.length > 0) groups.set(nowMs, now);
  const isAwake = (recipient: Recipient, atMs: number) => {
    const due = dueTimes.of(recipient, atMs);
    if (due.what === 'too-late') addTo(tooLate, due.words, recipient.number);
    else if (due.isQuiet) addTo(groups, due.atMs, recipient);
    else return true;
    return false;
  };
  const dues: LaterDue[] = [];
  while (groups.size > 0) {
    const wantedMs = Math.min(...groups.keys());
    const freeMs = pace.freeFrom(wantedMs);
    const some = groups.get(wantedMs) ?? [];
    groups.delete(wantedMs);
    const awake = freeMs === wantedMs ? some : some.filter((one) => isAwake(one, freeMs));
    if (awake.length === 0) continue;
    const atMs = pace.take(wantedMs, awake.length);
    if (atMs > nowMs) dues.push({ ...dueOf(atMs, awake), pacedMs: atMs - wantedMs });
  }
  const waiting = new Set(dues.flatMap(({ devices }) => devices));
  return { now: recipients.filter(({ number }) => !waiting.has(number)), dues };
}

function dueOf(atMs: number, recipients: readonly Recipient[]): LaterDue {
  return { atMs, devices: recipients.map(({ number }) => number) };
}

function addTo<Key, One>(lists: Map<Key, One[]>, key: Key, one: One): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [one]);
  else list.push(one);
}

export function byDevice(leftOut: readonly LeftOutDevices[]): ReadonlyMap<number, LeftOut> {
  return new Map(
    leftOut.flatMap(({ devices, ...why }) => devices.map((device) => [device, why] as const)),
  );
}

import type { LaterDue, LeftOut, LeftOutDevices } from '../../model/delivery.ts';
import type { Recipient } from '../../model/device.ts';
import { type DueTimes, QUIET_HOURS, SPREAD_SECONDS } from '../due-times.ts';

/** A page by when its devices are due. Each list is `undefined` if it would be empty. */
export interface Split {
  /** Those that are due, and those that do not get it. */
  readonly now: readonly Recipient[];
  readonly dues: readonly LaterDue[] | undefined;
  readonly leftOut: readonly LeftOutDevices[] | undefined;
}

/** Splits a page by when its devices are due, if they are looked at now. */
export function splitByDue(
  recipients: readonly Recipient[],
  dueTimes: DueTimes,
  nowMs: number,
): Split {
  // All devices of a page begin together, as a page that is due at 300 times would be claimed 300 times.
  const spreadMs = ((recipients[0]?.number ?? 0) % SPREAD_SECONDS) * 1000;
  const now: Recipient[] = [];
  const later = new Map<number, number[]>();
  const tooLate = new Map<string, number[]>();
  for (const recipient of recipients) {
    const due = dueTimes.of(recipient, nowMs);
    if (due.what === 'too-late') {
      addTo(tooLate, due.words, recipient.number);
      now.push(recipient);
      continue;
    }
    const atMs = due.isQuiet ? due.atMs + spreadMs : due.atMs;
    if (atMs <= nowMs) now.push(recipient);
    else addTo(later, atMs, recipient.number);
  }
  const dues = [...later].map(([atMs, devices]) => ({ atMs, devices }));
  const leftOut = [...tooLate].map(
    ([words, devices]) => ({ what: 'expired', reason: QUIET_HOURS, words, devices }) as const,
  );
  return {
    now,
    dues: dues.length === 0 ? undefined : dues.sort((a, b) => a.atMs - b.atMs),
    leftOut: leftOut.length === 0 ? undefined : leftOut,
  };
}

function addTo<Key>(lists: Map<Key, number[]>, key: Key, device: number): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [device]);
  else list.push(device);
}

export function byDevice(leftOut: readonly LeftOutDevices[]): ReadonlyMap<number, LeftOut> {
  return new Map(
    leftOut.flatMap(({ devices, ...why }) => devices.map((device) => [device, why] as const)),
  );
}

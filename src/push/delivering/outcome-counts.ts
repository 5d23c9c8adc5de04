import { byPlatform, type Platform } from '../model/device.ts';
import { TOO_MANY_FOR_DEVICE } from '../model/device-pause.ts';
import type { After } from './routes/after-outcome.ts';
import { RETRIES_ENDED } from './routes/lifetime.ts';

/** How often a device was accepted, failed and so on. */
export type Outcomes = Record<After['what'], number>;

/** Why a device is not tried any more although its notification is still valid. */
export type LeftOutReason = typeof RETRIES_ENDED | typeof TOO_MANY_FOR_DEVICE;

/** Counts what became of devices since the start. A device counts once for each attempt. */
export class OutcomeCounts {
  readonly outcomes: Readonly<Record<Platform, Outcomes>> = byPlatform(() => ({
    accepted: 0,
    retry: 0,
    failed: 0,
    expired: 0,
    pruned: 0,
  }));
  readonly leftOut: Record<LeftOutReason, number> = {
    [RETRIES_ENDED]: 0,
    [TOO_MANY_FOR_DEVICE]: 0,
  };

  count(platform: Platform, after: After): void {
    this.outcomes[platform][after.what]++;
    if (after.what !== 'expired') return;
    const { reason } = after;
    if (reason === RETRIES_ENDED || reason === TOO_MANY_FOR_DEVICE) this.leftOut[reason]++;
  }
}

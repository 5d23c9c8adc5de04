import { OVER_CAP } from '../model/cap.ts';
import { byPlatform, type Platform } from '../model/device.ts';
import { TOO_MANY_FOR_DEVICE } from '../model/device-pause.ts';
import { QUIET_HOURS } from './due-times.ts';
import type { After } from './routes/after-outcome.ts';
import { RETRIES_ENDED } from './routes/lifetime.ts';

/** How often a device was accepted, failed and so on. */
export type Outcomes = Record<After['what'], number>;

/** Why a device does not get a notification that is still valid, or would be but for its quiet hours. */
const leftOutReasons = [RETRIES_ENDED, TOO_MANY_FOR_DEVICE, QUIET_HOURS, OVER_CAP] as const;

export type LeftOutReason = (typeof leftOutReasons)[number];

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
    [QUIET_HOURS]: 0,
    [OVER_CAP]: 0,
  };

  count(platform: Platform, after: After): void {
    this.outcomes[platform][after.what]++;
    if (after.what !== 'expired' && after.what !== 'failed') return;
    const left = leftOutReasons.find((reason) => reason === after.reason);
    if (left !== undefined) this.leftOut[left]++;
  }
}

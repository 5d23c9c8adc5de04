import type { Pause } from '../delivering/ports.ts';
import type { Platform } from '../model/device.ts';
import type { PublishStatus } from '../model/publish.ts';

/** A way that is not used now, and that devices of a publish wait for. */
export interface WaitingWay extends Pick<Pause, 'why' | 'reason' | 'words' | 'sinceMs'> {
  readonly platform: Platform;
  /** Of a push service, where it is one of several. */
  readonly origin: string | undefined;
  /** Of how many push services devices are is not counted: `undefined` there. */
  readonly devices: number | undefined;
}

/** What devices of a publish wait for, among the ways of its instance that are not used now. */
export function waitingWays(
  { state, platforms }: PublishStatus,
  pauses: readonly Pause[],
): readonly WaitingWay[] {
  if (state === 'finished' || state === 'cancelled') return [];
  return pauses.flatMap(({ platform, origin, why, reason, words, sinceMs }) => {
    const { planned, accepted, failed, pruned, expired, cancelled } = platforms[platform];
    const waiting = planned - accepted - failed - pruned - expired - cancelled;
    if (waiting <= 0) return [];
    const devices = origin === undefined ? waiting : undefined;
    return { platform, origin, why, reason, words, sinceMs, devices };
  });
}

/** Adds to the reasons of a status what devices wait for, as far as it is known how many do. */
export function withWaiting(status: PublishStatus, ways: readonly WaitingWay[]): PublishStatus {
  const reasons = [...status.reasons];
  for (const { platform, reason, devices } of ways) {
    if (devices === undefined) continue;
    const at = reasons.findIndex((one) => one.platform === platform && one.reason === reason);
    const known = reasons[at];
    if (known === undefined) reasons.push({ platform, reason, devices });
    else reasons[at] = { ...known, devices: known.devices + devices };
  }
  return { ...status, reasons };
}

/** The JSON that tells what devices of a publish wait for. Times are RFC 3339 in UTC. */
export function waitingWaysJson({ id }: PublishStatus, ways: readonly WaitingWay[]): object {
  return {
    publishId: id,
    pauses: ways.map(({ platform, origin, why, reason, words, sinceMs, devices }) => ({
      platform,
      origin: origin ?? null,
      why,
      reason,
      words,
      since: new Date(sinceMs).toISOString(),
      devices: devices ?? null,
    })),
  };
}

import type { OpenCircuit } from '../delivering/ports.ts';
import type { Platform } from '../model/device.ts';
import type { PublishStatus } from '../model/publish.ts';

/** A paused route that devices of a publish wait for. */
export interface PublishPause extends Pick<OpenCircuit, 'why' | 'reason' | 'words' | 'sinceMs'> {
  readonly platform: Platform;
  /** The push service, if the platform has several. */
  readonly origin: string | undefined;
  /** How many devices wait; `undefined` for a single push service, as devices are not counted by push service. */
  readonly devices: number | undefined;
}

/** The paused routes of an instance that devices of the publish wait for, with all that is known of each. */
export function pausesOf<Route extends Omit<PublishPause, 'devices'>>(
  { state, platforms }: PublishStatus,
  pauses: readonly Route[],
): readonly (Route & PublishPause)[] {
  if (state === 'finished' || state === 'cancelled') return [];
  return pauses.flatMap((pause) => {
    const { platform, origin } = pause;
    const { planned, accepted, failed, pruned, expired, cancelled } = platforms[platform];
    const waiting = planned - accepted - failed - pruned - expired - cancelled;
    if (waiting <= 0) return [];
    const devices = origin === undefined ? waiting : undefined;
    return { ...pause, devices };
  });
}

/** Adds the devices that wait for pauses to the reasons of a status, if their number is known. */
export function withPausedDevices(
  status: PublishStatus,
  pauses: readonly PublishPause[],
): PublishStatus {
  const reasons = [...status.reasons];
  // Servers may have paused the same platform for several reasons: its devices count once.
  const counted = new Set<Platform>();
  for (const { platform, reason, devices } of pauses) {
    if (devices === undefined || counted.has(platform)) continue;
    counted.add(platform);
    const at = reasons.findIndex((one) => one.platform === platform && one.reason === reason);
    const known = reasons[at];
    if (known === undefined) reasons.push({ platform, reason, devices });
    else reasons[at] = { ...known, devices: known.devices + devices };
  }
  return { ...status, reasons };
}

/** The pauses of a publish as JSON. Times are RFC 3339 in UTC. */
export function publishPausesJson({ id }: PublishStatus, pauses: readonly PublishPause[]): object {
  return {
    publishId: id,
    pauses: pauses.map(({ platform, origin, why, reason, words, sinceMs, devices }) => ({
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

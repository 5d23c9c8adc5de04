import type { Platform } from '../../model/device.ts';
import type { Payloads } from '../../payloads/payloads.ts';

/** How long a notification is worth sending. */
export interface Lifetime {
  /** The deadline of retries. */
  readonly endsAtMs: number;
  /** The deadline of the first attempt. */
  readonly firstTryUntilMs: number;
}

/**
 * Without a time to live: the longest time that web push services and FCM keep a message. Source: push protocol,
 * §5.1.
 */
const DEFAULT_SECONDS = 28 * 24 * 3600;

/** A notification with a time to live of 0 gets its first attempt within this time. */
const AT_ONCE_MS = 60_000;

/** Reads how long the notification of one platform is worth sending, from when the publish was due. */
export function lifetimeOf(payloads: Payloads, platform: Platform, dueAtMs: number): Lifetime {
  const endsAtMs = endOf(payloads, platform, dueAtMs);
  return endsAtMs === undefined
    ? { endsAtMs: dueAtMs, firstTryUntilMs: dueAtMs + AT_ONCE_MS }
    : { endsAtMs, firstTryUntilMs: endsAtMs };
}

/** `undefined`: the time to live is 0. */
function endOf(payloads: Payloads, platform: Platform, dueAtMs: number): number | undefined {
  switch (platform) {
    case 'apns': {
      // A point in time; the other platforms have a duration. Source: push protocol, §8.1.
      const seconds = payloads.apns?.expirationSeconds;
      if (seconds === undefined) return dueAtMs + DEFAULT_SECONDS * 1000;
      // The payload may name any time, and nothing may wait forever.
      return seconds === 0 ? undefined : Math.min(seconds * 1000, dueAtMs + DEFAULT_SECONDS * 1000);
    }
    case 'fcm':
    case 'web': {
      const seconds = payloads[platform]?.timeToLiveSeconds ?? DEFAULT_SECONDS;
      return seconds === 0 ? undefined : dueAtMs + seconds * 1000;
    }
    default:
      return platform satisfies never;
  }
}

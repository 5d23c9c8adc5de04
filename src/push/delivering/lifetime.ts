import type { Platform } from '../model/device.ts';
import type { Payloads } from '../payloads/payloads.ts';

/** How long a notification is worth sending. */
export interface Lifetime {
  /** Until then it is tried again. */
  readonly endsAtMs: number;
  /** Until then it is tried once at least. */
  readonly firstTryUntilMs: number;
}

/** Where the publish does not say: the longest that a web push service and FCM keep a message. Source: push protocol, §5.1. */
const DEFAULT_SECONDS = 28 * 24 * 3600;

/** What is to be delivered at once or never is never late in so short a time. */
const AT_ONCE_MS = 60_000;

/** How long what a publish says to one platform is worth sending. It counts from when the publish was due. */
export function lifetimeOf(payloads: Payloads, platform: Platform, dueAtMs: number): Lifetime {
  const endsAtMs = endOf(payloads, platform, dueAtMs);
  return endsAtMs === undefined
    ? { endsAtMs: dueAtMs, firstTryUntilMs: dueAtMs + AT_ONCE_MS }
    : { endsAtMs, firstTryUntilMs: endsAtMs };
}

/** `undefined`: at once or never. */
function endOf(payloads: Payloads, platform: Platform, dueAtMs: number): number | undefined {
  switch (platform) {
    case 'apns': {
      // A point in time, where the others have a duration. Source: push protocol, §8.1.
      const seconds = payloads.apns?.expirationSeconds;
      if (seconds === undefined) return dueAtMs + DEFAULT_SECONDS * 1000;
      // What may be anything must not wait for ever.
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

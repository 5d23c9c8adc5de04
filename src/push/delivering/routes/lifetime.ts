import type { Platform } from '../../model/device.ts';
import type { Payloads } from '../../payloads/payloads.ts';

/** How long a notification is worth sending. */
export interface Lifetime {
  /** The deadline of retries. */
  readonly endsAtMs: number;
  /** The deadline of the first attempt. */
  readonly firstTryUntilMs: number;
  /** What ends it: its time to live, or the time for which the instance tries a notification. */
  readonly endsBy: 'itself' | 'retries';
}

/** A cause, by its code and perhaps the gateway's own text. */
interface Cause {
  readonly reason: string;
  readonly words: string;
}

/** The reason of a device whose turn came too late. */
const EXPIRED: Cause = { reason: 'expired', words: '' };

/** The reason of devices that were tried, or waited, for as long as the instance tries a notification. */
export const RETRIES_ENDED = 'retries-ended';

/**
 * Without a time to live: the longest time that web push services and FCM keep a message. Source: push protocol,
 * §5.1.
 */
const DEFAULT_SECONDS = 28 * 24 * 3600;

/** A notification with a time to live of 0 gets its first attempt within this time. */
const AT_ONCE_MS = 60_000;

interface LifetimeOptions {
  /** When it was due: its time to live starts here. */
  readonly dueAtMs: number;
  readonly retryMs: number;
  /** When it was first tried, if quiet hours delayed that. */
  readonly triedFromMs?: number | undefined;
}

/**
 * Reads how long the notification of one platform is worth sending, from when the publish was due. It is tried for
 * `retryMs` at most: otherwise devices that fail for good would keep their publishes open for weeks, and a renewed
 * credential would bring all notifications of those weeks at once.
 */
export function lifetimeOf(
  payloads: Payloads,
  platform: Platform,
  { dueAtMs, retryMs, triedFromMs = dueAtMs }: LifetimeOptions,
): Lifetime {
  const endsAtMs = endOf(payloads, platform, dueAtMs);
  if (endsAtMs === undefined) {
    return { endsAtMs: dueAtMs, firstTryUntilMs: dueAtMs + AT_ONCE_MS, endsBy: 'itself' };
  }
  const lastMs = triedFromMs + retryMs;
  return lastMs < endsAtMs
    ? { endsAtMs: lastMs, firstTryUntilMs: lastMs, endsBy: 'retries' }
    : { endsAtMs, firstTryUntilMs: endsAtMs, endsBy: 'itself' };
}

/** The result of a device whose notification is not worth sending any more. `cause`: what has delayed it, if known. */
export function expiredOf(
  { endsBy }: Lifetime,
  cause?: Cause,
): Cause & { readonly what: 'expired' } {
  // The words of this reason are the code of the cause.
  return endsBy === 'retries'
    ? { what: 'expired', reason: RETRIES_ENDED, words: cause?.reason ?? '' }
    : { what: 'expired', ...(cause ?? EXPIRED) };
}

/** When the time to live of a notification ends that was due at a time. */
export function timeToLiveEnd(payloads: Payloads, platform: Platform, dueAtMs: number): number {
  return endOf(payloads, platform, dueAtMs) ?? dueAtMs;
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

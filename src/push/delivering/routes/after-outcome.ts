import type { Outcome } from '../../gateway.ts';
import { DEVICE_PAUSED, type DevicePause, type NewDevicePause } from '../../model/device-pause.ts';
import { backOffMs } from './back-off.ts';
import type { Paused, PauseNow } from './devices/device-pauses.ts';
import { expiredOf, type Lifetime } from './lifetime.ts';

/** Where the same credential was accepted for other devices. If it was, a failure is probably the device's own. */
export type OthersAccepted =
  /** At the same gateway, within the last minute. */
  | 'here'
  /** At another push service, or longer ago. */
  | 'somewhere'
  /** The notification was sent nowhere yet, or the circuit is open now. */
  | 'none';

/** What is known about an attempt in addition to its outcome. */
export interface DeliveryAttempt {
  /** The number of attempts, this one included. */
  readonly attempts: number;
  readonly nowMs: number;
  /** The lifetime of the notification. */
  readonly lifetime: Lifetime;
  /** When the device last registered, or changed its token, user or metadata. */
  readonly seenAtMs: number;
  /** Whether the device was ever accepted. */
  readonly wasAccepted: boolean;
  /** Whether the device registered with a key that it chose, as browsers do. Otherwise one credential serves all. */
  readonly isBoundToKey: boolean;
  readonly others: OthersAccepted;
  /** The last pause of the device before this attempt. */
  readonly lastPause?: DevicePause | undefined;
  /** The pause that begins with this attempt. */
  readonly pause?: Paused | undefined;
  /** From 0 to 1, 1 excluded. */
  readonly random: () => number;
}

/** What follows for a device from the outcome of an attempt. */
export type After =
  | { readonly what: 'accepted'; readonly endsPause?: true }
  | {
      readonly what: 'retry';
      readonly dueAtMs: number;
      readonly reason: string;
      readonly words: string;
      /** Why the attempt failed, if `reason` is the pause that follows. */
      readonly failure?: string;
      readonly pause?: NewDevicePause | undefined;
    }
  | {
      readonly what: 'failed' | 'expired' | 'pruned';
      readonly reason: string;
      readonly words: string;
      readonly pause?: NewDevicePause | undefined;
    };

/** The reason of a device whose token died before the device registered with it. */
const TOKEN_STALE = 'token-stale';

/**
 * Give up a device that alone is not authorised after this many attempts. Fewer could be a push service in trouble for
 * some seconds. Source: push protocol, §8.3.4.
 */
const ATTEMPTS_UNAUTHORISED = 3;

/**
 * Give up a device that was never accepted, and that alone fails at its gateway, after this many attempts: about 10
 * minutes, or 2 hours if others were last accepted long ago. Otherwise fake devices would be retried until each
 * publish expires.
 */
const ATTEMPTS_OF_NEVER_ACCEPTED: Readonly<Record<OthersAccepted, number>> = {
  here: 10,
  somewhere: 24,
  none: Number.POSITIVE_INFINITY,
};

/** How long a device is tried in other cases, counted from its first failure, because the pauses of a device grow. */
const HOPELESS_MS = 2 * 3_600_000;

const ACCEPTED: After = { what: 'accepted' };

/** Decides what follows from the outcome of an attempt. Source: push protocol, §8. */
export function afterOutcome(outcome: Outcome, attempt: DeliveryAttempt): After {
  switch (outcome.result) {
    case 'accepted':
      return ACCEPTED;
    case 'try-again': {
      const { reason, afterMs, words = '' } = outcome;
      const { wasAccepted, others, attempts, pause = attempt.lastPause } = attempt;
      const isEnough = attempts >= ATTEMPTS_OF_NEVER_ACCEPTED[others];
      if (!wasAccepted && (isEnough || (pause !== undefined && isHopeless(pause, attempt)))) {
        return { what: 'failed', reason, words, pause: attempt.pause?.toStore };
      }
      return attempt.pause === undefined
        ? tryAgain(attempt, reason, words, afterMs)
        : afterFailureAlone(attempt.pause, attempt, reason);
    }
    case 'token-gone': {
      const { reason, sinceMs } = outcome;
      // The app was removed at that time, but has been there since.
      return sinceMs !== undefined && sinceMs <= attempt.seenAtMs
        ? { what: 'failed', reason: TOKEN_STALE, words: '' }
        : { what: 'pruned', reason, words: '' };
    }
    case 'refused':
      return { what: 'failed', reason: outcome.reason, words: outcome.words };
    case 'not-authorised': {
      const { reason, words } = outcome;
      const what = afterRefusedKey(outcome, attempt);
      return what === 'retry'
        ? tryAgain(attempt, reason, words, undefined)
        : { what, reason, words };
    }
    default:
      return outcome satisfies never;
  }
}

/**
 * Whether a device that was never accepted has failed alone for long enough. Attempts for all publishes count: each of them
 * would wait long for its own.
 */
function isHopeless(
  { failures, sinceMs }: DevicePause,
  { others, nowMs }: Pick<DeliveryAttempt, 'others' | 'nowMs'>,
): boolean {
  if (failures < ATTEMPTS_OF_NEVER_ACCEPTED.here) return false;
  return others === 'here' || nowMs - sinceMs >= HOPELESS_MS;
}

/** Decides what follows for a device whose pause begins. */
function afterFailureAlone(pause: Paused, attempt: DeliveryAttempt, reason: string): After {
  const { lifetime } = attempt;
  const begun = { pause: pause.toStore };
  return pause.untilMs < lifetime.endsAtMs
    ? {
        what: 'retry',
        dueAtMs: pause.untilMs,
        reason: DEVICE_PAUSED,
        words: reason,
        failure: reason,
        ...begun,
      }
    : { ...expiredOf(lifetime, { reason, words: '' }), ...begun };
}

/**
 * Decides what follows for a device that is in a pause, and is not sent to. One that was never accepted, and has failed as
 * often as it may, gets nothing: publishes would stay unfinished for it.
 */
export function afterPause(
  pause: PauseNow,
  attempt: Pick<DeliveryAttempt, 'attempts' | 'wasAccepted' | 'lifetime' | 'others' | 'nowMs'>,
): Exclude<After, { readonly what: 'accepted' }> {
  const { reason } = pause;
  const { attempts, wasAccepted, lifetime } = attempt;
  if (!wasAccepted && isHopeless(pause, attempt)) {
    return { what: 'failed', reason: DEVICE_PAUSED, words: reason };
  }
  const endsAtMs = attempts === 0 ? lifetime.firstTryUntilMs : lifetime.endsAtMs;
  const why = { reason: DEVICE_PAUSED, words: reason };
  return pause.untilMs < endsAtMs
    ? { what: 'retry', dueAtMs: pause.untilMs, ...why }
    : expiredOf(lifetime, why);
}

/**
 * A browser that subscribed with another key is removed if our key is accepted for others. In all other cases the
 * credential may be wrong, so only devices that were never accepted are given up, and they stay registered.
 */
function afterRefusedKey(
  { scope }: Extract<Outcome, { readonly result: 'not-authorised' }>,
  { attempts, wasAccepted, isBoundToKey, others }: DeliveryAttempt,
): 'retry' | 'pruned' | 'failed' {
  if (scope === 'connection' || attempts < ATTEMPTS_UNAUTHORISED) return 'retry';
  if (isBoundToKey && others === 'here') return 'pruned';
  return !wasAccepted && others !== 'none' ? 'failed' : 'retry';
}

function tryAgain(
  { attempts, nowMs, lifetime, random }: DeliveryAttempt,
  reason: string,
  words: string,
  afterMs: number | undefined,
): After {
  const dueAtMs = nowMs + backOffMs(attempts, afterMs, random());
  return dueAtMs < lifetime.endsAtMs
    ? { what: 'retry', dueAtMs, reason, words }
    : expiredOf(lifetime, { reason, words });
}

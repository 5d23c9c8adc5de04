import type { Outcome } from '../gateway.ts';
import { backOffMs } from './back-off.ts';

/** What is known of an attempt beside its outcome. */
export interface Attempt {
  /** With this one. */
  readonly attempts: number;
  readonly nowMs: number;
  /** When the notification's time to live has run out. */
  readonly endsAtMs: number;
  readonly registeredAtMs: number;
  /**
   * Whether others are accepted where this device may be bound to a credential of its own: that it alone is not
   * authorised then says something of the device.
   */
  readonly onlyItsKeyRefused: boolean;
  /** From 0 to 1, 1 excluded. */
  readonly random: () => number;
}

/** What follows for a device from the outcome of an attempt. */
export type After =
  | { readonly what: 'accepted' }
  | {
      readonly what: 'retry';
      readonly dueAtMs: number;
      readonly reason: string;
      readonly words: string;
    }
  | {
      readonly what: 'failed' | 'expired' | 'pruned';
      readonly reason: string;
      readonly words: string;
    };

/** The reason of a device whose token died before the device registered with it. */
const TOKEN_STALE = 'token-stale';

/**
 * Attempts after which a device is given up that alone is not accepted where others are: it subscribed with
 * another key. Fewer could be a push service that has trouble for some seconds. Source: push protocol, §8.3.4.
 */
const ATTEMPTS_WITH_OTHER_KEY = 3;

const ACCEPTED: After = { what: 'accepted' };

/** Says what follows from the outcome of an attempt. Source: push protocol, §8. */
export function afterOutcome(outcome: Outcome, attempt: Attempt): After {
  switch (outcome.result) {
    case 'accepted':
      return ACCEPTED;
    case 'try-again':
      return tryAgain(attempt, outcome.reason, '', outcome.afterMs);
    case 'token-gone': {
      const { reason, sinceMs } = outcome;
      // The gateway speaks of an earlier registration of the same token: the app may be there again.
      return sinceMs !== undefined && sinceMs <= attempt.registeredAtMs
        ? { what: 'failed', reason: TOKEN_STALE, words: '' }
        : { what: 'pruned', reason, words: '' };
    }
    case 'refused':
      return { what: 'failed', reason: outcome.reason, words: outcome.words };
    case 'not-authorised': {
      const { reason, words } = outcome;
      return attempt.onlyItsKeyRefused && attempt.attempts >= ATTEMPTS_WITH_OTHER_KEY
        ? { what: 'pruned', reason, words }
        : tryAgain(attempt, reason, words, undefined);
    }
    default:
      return outcome satisfies never;
  }
}

function tryAgain(
  { attempts, nowMs, endsAtMs, random }: Attempt,
  reason: string,
  words: string,
  afterMs: number | undefined,
): After {
  const dueAtMs = nowMs + backOffMs(attempts, afterMs, random());
  return dueAtMs < endsAtMs
    ? { what: 'retry', dueAtMs, reason, words }
    : { what: 'expired', reason, words };
}

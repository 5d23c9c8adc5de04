import type { UnknownWhy, UnprocessedWhy } from '../outgoing/http2/request.ts';
import type { Outcome, TroubleScope } from '../push/gateway.ts';

/**
 * Which devices a missing answer concerns. Only a failure before the request named a device is certainly not the
 * device's fault: a device whose requests hang must not look like a gateway that is down.
 */
const unansweredScopes: Readonly<Record<UnprocessedWhy | UnknownWhy, TroubleScope>> = {
  unreachable: 'connection',
  'not-allowed': 'connection',
  'no-http2': 'connection',
  closed: 'connection',
  'turned-away': 'gateway',
  'not-in-time': 'gateway',
  'too-many-waiting': 'gateway',
  'too-large': 'device',
  'protocol-error': 'gateway',
  silence: 'gateway',
  // These happen to one request while others succeed.
  'no-answer': 'device',
  reset: 'device',
  'connection-lost': 'device',
};

/** The outcome of a request that was not answered, by its reason. Unknown reasons concern the device alone. */
export function unansweredOutcome(why: string): Outcome {
  if (why === 'too-large') return { result: 'refused', reason: why, words: '' };
  const isKnown = Object.hasOwn(unansweredScopes, why);
  const scope = isKnown ? unansweredScopes[why as keyof typeof unansweredScopes] : 'device';
  return tryAgain(why, undefined, scope);
}

export function tryAgain(
  reason: string,
  afterMs: number | undefined,
  scope: TroubleScope,
): Outcome {
  return { result: 'try-again', reason, afterMs, scope };
}

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
  if (why === 'too-large') return refused(why);
  const isKnown = Object.hasOwn(unansweredScopes, why);
  const scope = isKnown ? unansweredScopes[why as keyof typeof unansweredScopes] : 'device';
  return tryAgain(why, scope);
}

type OutcomeOf<Result> = Extract<Outcome, { readonly result: Result }>;

export const accepted: Outcome = { result: 'accepted' };

export function tryAgain(
  reason: string,
  scope: TroubleScope,
  afterMs?: number,
): OutcomeOf<'try-again'> {
  return { result: 'try-again', reason, afterMs, scope };
}

export function tokenGone(reason: string, sinceMs?: number): OutcomeOf<'token-gone'> {
  return { result: 'token-gone', reason, sinceMs };
}

/** Refused for one device. */
export function refused(reason: string, words = ''): OutcomeOf<'refused'> {
  return { result: 'refused', reason, words };
}

/** Refused for every device of the publish. */
export function refusedForAll(reason: string, words = ''): OutcomeOf<'refused'> {
  return { result: 'refused', reason, words, scope: 'publish' };
}

export function notAuthorised(reason: string, words = ''): OutcomeOf<'not-authorised'> {
  return { result: 'not-authorised', reason, words };
}

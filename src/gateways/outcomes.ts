import type { UnknownWhy, UnprocessedWhy } from '../outgoing/http2/request.ts';
import type { ProxyReason } from '../outgoing/proxy/proxy-fault.ts';
import type { Outcome, TroubleScope } from '../push/gateway.ts';

/**
 * Which devices a missing answer concerns. Only a failure before the request named a device is certainly not the
 * device's fault: a device whose requests hang must not look like a gateway that is down.
 */
const unansweredScopes: Readonly<Record<UnprocessedWhy | UnknownWhy, TroubleScope>> = {
  unreachable: 'connection',
  'proxy-unreachable': 'connection',
  'proxy-refused': 'connection',
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

/** The limit of characters of the words of an outcome, which are stored. */
const WORDS_LENGTH_MAX = 200;

/**
 * The outcome of a request that was not answered, by its reason. Unknown reasons concern the device alone. `detail` says
 * what the proxy did.
 */
export function unansweredOutcome(why: string, detail = ''): Outcome {
  if (why === 'too-large') return refused(why);
  if (why === 'proxy-unreachable' || why === 'proxy-refused') return proxyFailed(why, detail);
  const isKnown = Object.hasOwn(unansweredScopes, why);
  const scope = isKnown ? unansweredScopes[why as keyof typeof unansweredScopes] : 'device';
  return tryAgain(why, scope);
}

/** The proxy made no connection. `words` name it and say why. */
export function proxyFailed(reason: ProxyReason, words: string): OutcomeOf<'try-again'> {
  return { ...tryAgain(reason, unansweredScopes[reason]), words: words.slice(0, WORDS_LENGTH_MAX) };
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

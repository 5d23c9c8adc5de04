import type { Outcome, TroubleScope } from '../../push/gateway.ts';
import { type JsonObject, readJsonObject } from '../../runtime/json-object.ts';
import { redactedText } from '../../runtime/redacted-text.ts';
import { readRetryAfter } from '../retry-after.ts';
import { scopeOfUnanswered } from '../unanswered.ts';

/** What a push service answered. */
export interface WebPushAnswer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  /** Its beginning is enough. */
  readonly body: Uint8Array;
}

/** What became of a message on its way to a push service. */
export type WebPushResult =
  | { readonly result: 'answered'; readonly answer: WebPushAnswer }
  /** It may have been taken all the same, or never have left. `reason` is a word. */
  | { readonly result: 'not-answered'; readonly reason: string }
  /** The address of the push service may not be connected to. `words` say which, and why. */
  | { readonly result: 'not-allowed'; readonly words: string };

/** What Mozilla's service says in numbers: the subscription is not there, or no more. Source: push protocol, §8.3.4. */
const GONE_ERRNOS: readonly unknown[] = [102, 103, 105, 106];

/** Mozilla's service wants to be asked again at once. Source: the same. */
const AT_ONCE_ERRNO = 202;

/** What "at once" is taken for: a device that fails at once again must not keep everybody busy. */
const AT_ONCE_MS = 1000;

/** Apple says with 400 what others say with 403: subscribed with another key. Source: the same. */
const APPLE_OTHER_KEY = 'VapidPkHashMismatch';

/** Mozilla's service has trouble with one of those that it reaches single browsers through. Source: the same. */
const BRIDGE_ERRNOS: readonly unknown[] = [900, 901, 902, 903];

/**
 * Statuses below 500 after which the same request may succeed; Windows says 406 where others say 429. That too much
 * is sent is mostly said of one browser; where it is said of many in a row, the pipeline finds it out.
 */
const TRY_AGAIN_STATUSES: readonly number[] = [406, 408, 421, 425, 429];

/**
 * Reads what became of a message. Nothing is ever refused for all of a publish: each push service has rules of its
 * own, and one of them must not keep a publish from the browsers of others.
 */
export function readWebPushResult(result: WebPushResult, nowMs: number): Outcome {
  switch (result.result) {
    case 'answered':
      return readWebPushAnswer(result.answer, nowMs);
    case 'not-answered':
      return readSilence(result.reason);
    case 'not-allowed':
      return { result: 'refused', reason: 'address-not-allowed', words: result.words };
    default:
      return result satisfies never;
  }
}

function readSilence(reason: string): Outcome {
  // The endpoint is too long for any request.
  if (reason === 'too-large') return { result: 'refused', reason, words: '' };
  return tryAgain(reason, undefined, scopeOfUnanswered(reason));
}

/** The gateway is the one push service here: each is a way of its own, and others are not held up by its trouble. */
function tryAgain(reason: string, afterMs: number | undefined, scope: TroubleScope): Outcome {
  return { result: 'try-again', reason, afterMs, scope };
}

/** Reads what a push service answered for one message. Sources: push protocol, §8.3.4, and RFC 8030. */
export function readWebPushAnswer(answer: WebPushAnswer, nowMs: number): Outcome {
  const { status } = answer;
  if (status >= 200 && status < 300) return { result: 'accepted' };
  const { errno, appleReason, words } = readBody(answer.body);
  const reason = errno === undefined ? (appleReason ?? `http-${status}`) : `errno-${errno}`;

  if (status >= 500 || TRY_AGAIN_STATUSES.includes(status)) {
    const isAtOnce = errno === AT_ONCE_ERRNO;
    const afterMs = readRetryAfter(answer.retryAfter, nowMs) ?? (isAtOnce ? AT_ONCE_MS : undefined);
    const isOfService = status >= 500 && !isAtOnce && !BRIDGE_ERRNOS.includes(errno);
    return tryAgain(reason, afterMs, isOfService ? 'gateway' : 'device');
  }
  if (status === 401 || status === 403 || appleReason === APPLE_OTHER_KEY) {
    return { result: 'not-authorised', reason, words };
  }
  if (status === 404 || status === 410 || (status >= 400 && GONE_ERRNOS.includes(errno))) {
    return { result: 'token-gone', reason, sinceMs: undefined };
  }
  return { result: 'refused', reason, words };
}

interface AnswerBody {
  /** Of Mozilla's service. */
  readonly errno: number | undefined;
  /** Of Apple's service. */
  readonly appleReason: string | undefined;
  readonly words: string;
}

function readBody(body: Uint8Array): AnswerBody {
  const object = readJsonObject(body);
  return {
    errno: object && readErrno(object),
    appleReason: object && readAppleReason(object),
    words: redactedText(wordsIn(object) ?? Buffer.from(body).toString()),
  };
}

function readErrno({ errno }: JsonObject): number | undefined {
  const isErrno =
    typeof errno === 'number' && Number.isInteger(errno) && errno >= 100 && errno < 1000;
  return isErrno ? errno : undefined;
}

function readAppleReason({ reason }: JsonObject): string | undefined {
  return typeof reason === 'string' && /^[A-Z][A-Za-z]{2,39}$/.test(reason) ? reason : undefined;
}

/** Of an object, only what is known to be meant for people; Apple's has nothing. */
function wordsIn(object: JsonObject | undefined): string | undefined {
  if (object === undefined) return undefined;
  const { message } = object;
  return typeof message === 'string' ? message : '';
}

import type { Outcome } from '../../push/gateway.ts';
import { type JsonObject, readJsonObject } from '../../runtime/json-object.ts';
import { redactedText } from '../../runtime/logging/redact.ts';
import type { GatewayAnswer } from '../answer.ts';
import {
  accepted,
  notAuthorised,
  refused,
  tokenGone,
  tryAgain,
  unansweredOutcome,
} from '../outcomes.ts';
import { readRetryAfter } from '../retry-after.ts';

/** The result of a request to a push service. */
export type WebPushResult =
  | { readonly result: 'answered'; readonly answer: GatewayAnswer }
  /** It is unknown whether the request was processed. `reason` is a code, `words` are for people. */
  | {
      readonly result: 'not-answered';
      readonly reason: string;
      readonly words?: string | undefined;
    }
  /** Connecting to the address of the push service is not allowed. `words` has the address and the reason. */
  | { readonly result: 'not-allowed'; readonly words: string };

/** Mozilla's error numbers for a subscription that does not exist (any more). Source: push protocol, §8.3.4. */
const GONE_ERRNOS: readonly unknown[] = [102, 103, 105, 106];

/** Mozilla's error number for "try again at once". Source: the same. */
const AT_ONCE_ERRNO = 202;

/** Pause for "at once": a device that fails again and again must not cause a loop. */
const AT_ONCE_MS = 1000;

/** Apple's reason, with status 400, for a subscription made with another VAPID key. Others answer 403. Source: the same. */
const APPLE_OTHER_KEY = 'VapidPkHashMismatch';

/** Mozilla's error numbers for trouble with a bridge, which concerns some browsers only. Source: the same. */
const BRIDGE_ERRNOS: readonly unknown[] = [900, 901, 902, 903];

/**
 * Statuses below 500 after which the same request may succeed. Windows answers 406 where others answer 429. An exceeded
 * rate is mostly that of one browser; if it is not, the circuit breaker finds out.
 */
const TRY_AGAIN_STATUSES: readonly number[] = [406, 408, 421, 425, 429];

/**
 * Classifies the answer to a message. It never refuses a whole publish: each push service has its own rules, and one
 * of them must not stop a publish for the browsers of others.
 */
export function readWebPushResult(result: WebPushResult, nowMs: number): Outcome {
  switch (result.result) {
    case 'answered':
      return readWebPushAnswer(result.answer, nowMs);
    case 'not-answered':
      return unansweredOutcome(result.reason, result.words);
    case 'not-allowed':
      return refused('address-not-allowed', result.words);
    default:
      return result satisfies never;
  }
}

/**
 * Reads a push service's answer to one message. Scope `gateway` means this one push service. Sources: push protocol,
 * §8.3.4, and RFC 8030.
 */
export function readWebPushAnswer(answer: GatewayAnswer, nowMs: number): Outcome {
  const { status } = answer;
  if (status >= 200 && status < 300) return accepted;
  const { errno, appleReason, words } = readBody(answer);
  const isGone = status === 404 || status === 410;
  // Mozilla gives an error number for any other trouble, too. The status counts.
  const isNamed = errno !== undefined && !(isGone && !GONE_ERRNOS.includes(errno));
  const reason = isNamed ? `errno-${errno}` : (appleReason ?? `http-${status}`);

  if (status >= 500 || TRY_AGAIN_STATUSES.includes(status)) {
    const isAtOnce = errno === AT_ONCE_ERRNO;
    const afterMs = readRetryAfter(answer.retryAfter, nowMs) ?? (isAtOnce ? AT_ONCE_MS : undefined);
    const isOfService = status >= 500 && !isAtOnce && !BRIDGE_ERRNOS.includes(errno);
    return tryAgain(reason, isOfService ? 'gateway' : 'device', afterMs);
  }
  if (status === 401 || status === 403 || appleReason === APPLE_OTHER_KEY) {
    return notAuthorised(reason, words);
  }
  if (isGone || (status >= 400 && GONE_ERRNOS.includes(errno))) {
    return tokenGone(reason);
  }
  return refused(reason, words);
}

interface AnswerBody {
  /** Mozilla's error number. */
  readonly errno: number | undefined;
  readonly appleReason: string | undefined;
  readonly words: string;
}

function readBody({ body, headerWords }: GatewayAnswer): AnswerBody {
  const object = readJsonObject(body);
  return {
    errno: object && readErrno(object),
    appleReason: object && readAppleReason(object),
    words: redactedText(headerWords ?? wordsIn(object) ?? Buffer.from(body).toString()),
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

/** Returns the field of a JSON object that is for people; Apple's answers have none. */
function wordsIn(object: JsonObject | undefined): string | undefined {
  if (object === undefined) return undefined;
  const { message } = object;
  return typeof message === 'string' ? message : '';
}

import type { Http2Result } from '../../outgoing/http2/request.ts';
import type { Outcome, TroubleScope } from '../../push/gateway.ts';
import { readJsonObject } from '../../runtime/json-object.ts';
import { readRetryAfter } from '../retry-after.ts';
import { scopeOfUnanswered } from '../unanswered.ts';

type Unanswered = Exclude<Http2Result, { readonly result: 'answered' }>;

/** What Apple answered to one request. */
export interface ApnsAnswer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly body: Uint8Array;
}

/** What an answer means; and what is to be tried first, each once, before it is believed. */
export interface ApnsVerdict {
  readonly outcome: Outcome;
  readonly first?:
    | 'other-environment'
    /** The token that it was sent with may be replaced by now. */
    | 'new-token'
    | 'new-connection';
}

type Meaning =
  /** It is what was published, which is the same for all of its devices. */
  | 'publish-wrong'
  /** It is what the device registered with, or nobody knows whose fault it is. */
  | 'message-wrong'
  | 'credentials-wrong'
  | 'token-gone'
  | 'token-of-elsewhere'
  | 'key-of-elsewhere'
  | 'credentials-old'
  | 'connection-old'
  | 'connection-blamed'
  | 'device-busy'
  | 'trouble';

/** What Apple gives as reason, and what that means for us. Source: push protocol, §8.1, "Responses". */
const meanings: Readonly<Record<string, Meaning>> = {
  BadDeviceToken: 'token-of-elsewhere',
  DeviceTokenNotForTopic: 'token-gone',
  Unregistered: 'token-gone',
  ExpiredToken: 'token-gone',

  BadCollapseId: 'publish-wrong',
  BadExpirationDate: 'publish-wrong',
  BadMessageId: 'publish-wrong',
  BadPriority: 'publish-wrong',
  DuplicateHeaders: 'publish-wrong',
  InvalidPushType: 'publish-wrong',
  PayloadEmpty: 'publish-wrong',
  PayloadTooLarge: 'publish-wrong',
  MethodNotAllowed: 'publish-wrong',

  // The topic is the bundle id and the path has the token that a device registered with, and whoever likes may
  // register one: three of those must not keep a publish from all others.
  BadTopic: 'message-wrong',
  MissingTopic: 'message-wrong',
  TopicDisallowed: 'message-wrong',
  MissingDeviceToken: 'message-wrong',
  BadPath: 'message-wrong',

  ExpiredProviderToken: 'credentials-old',
  BadEnvironmentKeyInToken: 'key-of-elsewhere',
  InvalidProviderToken: 'credentials-wrong',
  MissingProviderToken: 'credentials-wrong',
  BadCertificate: 'credentials-wrong',
  BadCertificateEnvironment: 'credentials-wrong',
  UnrelatedKeyIdInToken: 'credentials-wrong',
  Forbidden: 'credentials-wrong',

  IdleTimeout: 'connection-old',
  Shutdown: 'connection-old',
  TooManyProviderTokenUpdates: 'connection-blamed',
  TooManyRequests: 'device-busy',
  InternalServerError: 'trouble',
  ServiceUnavailable: 'trouble',
};

/** How long Apple's displeasure with too many tokens is waited out. It ends by itself, on a new connection. */
const BLAMED_MS = 60_000;

const ACCEPTED: ApnsVerdict = { outcome: { result: 'accepted' } };

/** Reads what Apple answered. Source: push protocol, §8.1, "Responses". */
export function readApnsAnswer(answer: ApnsAnswer, nowMs: number): ApnsVerdict {
  const { status } = answer;
  if (status === 200) return ACCEPTED;
  const { reason = `http-${status}`, timestampMs } = readBody(answer.body);
  const afterMs = readRetryAfter(answer.retryAfter, nowMs);
  const meaning = Object.hasOwn(meanings, reason) ? meanings[reason] : undefined;
  switch (meaning ?? meaningOf(status)) {
    case 'publish-wrong':
      return { outcome: { result: 'refused', reason, words: '', scope: 'publish' } };
    case 'message-wrong':
      return { outcome: { result: 'refused', reason, words: '' } };
    case 'credentials-wrong':
      return { outcome: { result: 'not-authorised', reason, words: '' } };
    case 'token-gone':
      return { outcome: { result: 'token-gone', reason, sinceMs: timestampMs } };
    case 'token-of-elsewhere':
      return {
        outcome: { result: 'token-gone', reason, sinceMs: undefined },
        first: 'other-environment',
      };
    case 'key-of-elsewhere':
      return {
        outcome: { result: 'not-authorised', reason, words: '' },
        first: 'other-environment',
      };
    case 'credentials-old':
      return { outcome: { result: 'not-authorised', reason, words: '' }, first: 'new-token' };
    case 'connection-old':
      return { outcome: tryAgain(reason, afterMs, 'gateway'), first: 'new-connection' };
    case 'connection-blamed':
      return {
        outcome: tryAgain(reason, Math.max(afterMs ?? 0, BLAMED_MS), 'gateway'),
        first: 'new-connection',
      };
    case 'device-busy':
      return { outcome: tryAgain(reason, afterMs, 'device') };
    case 'trouble':
      return { outcome: tryAgain(reason, afterMs, 'gateway') };
  }
}

/** What an answer means whose reason says nothing to us. */
function meaningOf(status: number): Meaning {
  if (status === 401 || status === 403) return 'credentials-wrong';
  if (status === 410) return 'token-gone';
  if (status === 429) return 'device-busy';
  return status >= 400 && status < 500 ? 'message-wrong' : 'trouble';
}

/** What it means that there was no answer. */
export function readApnsSilence({ why }: Unanswered): Outcome {
  return why === 'too-large'
    ? { result: 'refused', reason: why, words: '' }
    : tryAgain(why, undefined, scopeOfUnanswered(why));
}

function tryAgain(reason: string, afterMs: number | undefined, scope: TroubleScope): Outcome {
  return { result: 'try-again', reason, afterMs, scope };
}

function readBody(body: Uint8Array): {
  readonly reason?: string;
  readonly timestampMs: number | undefined;
} {
  const { reason, timestamp } = readJsonObject(body) ?? {};
  return {
    // It is kept and shown.
    ...(typeof reason === 'string' && /^[A-Za-z0-9]{1,64}$/.test(reason) ? { reason } : {}),
    timestampMs: typeof timestamp === 'number' && timestamp >= 0 ? timestamp : undefined,
  };
}

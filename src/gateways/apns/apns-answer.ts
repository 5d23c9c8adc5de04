import type { Outcome } from '../../push/gateway.ts';
import { readJsonObject } from '../../runtime/json-object.ts';
import type { GatewayAnswer } from '../answer.ts';
import {
  accepted,
  notAuthorised,
  refused,
  refusedForAll,
  tokenGone,
  tryAgain,
} from '../outcomes.ts';
import { readRetryAfter } from '../retry-after.ts';

/** What an answer means, and what to try once before it counts. */
export interface ApnsVerdict {
  readonly outcome: Outcome;
  readonly first?:
    | 'other-environment'
    /** The provider token may have been renewed in the meantime. */
    | 'new-token'
    | 'new-connection';
}

type Meaning =
  /** The published part is wrong, which is the same for all devices. */
  | 'publish-wrong'
  /** What the device registered with is wrong, or the cause is unknown. */
  | 'message-wrong'
  | 'credentials-wrong'
  | 'token-gone'
  | 'token-unknown'
  | 'key-of-other-environment'
  | 'credentials-old'
  | 'connection-old'
  | 'connection-penalised'
  | 'device-busy'
  | 'trouble';

/** Apple's reasons, and what they mean for us. Source: push protocol, §8.1, "Responses". */
const meanings: Readonly<Record<string, Meaning>> = {
  BadDeviceToken: 'token-unknown',
  ChannelNotRegistered: 'token-gone',
  DeviceTokenNotForTopic: 'token-gone',
  Unregistered: 'token-gone',
  ExpiredToken: 'token-gone',

  BadCollapseId: 'publish-wrong',
  BadExpirationDate: 'publish-wrong',
  BadMessageId: 'publish-wrong',
  BadPriority: 'publish-wrong',
  BadRequestPayload: 'publish-wrong',
  DuplicateHeaders: 'publish-wrong',
  InvalidPushType: 'publish-wrong',
  PayloadEmpty: 'publish-wrong',
  PayloadTooLarge: 'publish-wrong',
  MethodNotAllowed: 'publish-wrong',

  // The topic and the path come from a device's registration, and anyone may register a device: three such devices
  // must not stop a publish for all others.
  BadChannelId: 'message-wrong',
  FeatureNotEnabled: 'message-wrong',
  BadTopic: 'message-wrong',
  MissingTopic: 'message-wrong',
  TopicDisallowed: 'message-wrong',
  MissingDeviceToken: 'message-wrong',
  BadPath: 'message-wrong',

  ExpiredProviderToken: 'credentials-old',
  BadEnvironmentKeyInToken: 'key-of-other-environment',
  InvalidProviderToken: 'credentials-wrong',
  MissingProviderToken: 'credentials-wrong',
  BadCertificate: 'credentials-wrong',
  BadCertificateEnvironment: 'credentials-wrong',
  UnrelatedKeyIdInToken: 'credentials-wrong',
  Forbidden: 'credentials-wrong',

  IdleTimeout: 'connection-old',
  Shutdown: 'connection-old',
  TooManyProviderTokenUpdates: 'connection-penalised',
  TooManyRequests: 'device-busy',
  InternalServerError: 'trouble',
  ServiceUnavailable: 'trouble',
};

/** Pause after Apple's penalty for too many token updates. A new connection is free of it. */
const PENALTY_MS = 60_000;

/** Reads what Apple answered. Source: push protocol, §8.1, "Responses". */
export function readApnsAnswer(answer: GatewayAnswer, nowMs: number): ApnsVerdict {
  const { status } = answer;
  if (status === 200) return { outcome: accepted };
  const { reason = `http-${status}`, timestampMs } = readBody(answer.body);
  const afterMs = readRetryAfter(answer.retryAfter, nowMs);
  const meaning = Object.hasOwn(meanings, reason) ? meanings[reason] : undefined;
  switch (meaning ?? meaningOf(status)) {
    case 'publish-wrong':
      return { outcome: refusedForAll(reason) };
    case 'message-wrong':
      return { outcome: refused(reason) };
    case 'credentials-wrong':
      return { outcome: notAuthorised(reason) };
    case 'token-gone':
      return { outcome: tokenGone(reason, timestampMs) };
    case 'token-unknown':
      return { outcome: tokenGone(reason), first: 'other-environment' };
    case 'key-of-other-environment':
      return { outcome: notAuthorised(reason), first: 'other-environment' };
    case 'credentials-old':
      return { outcome: notAuthorised(reason), first: 'new-token' };
    case 'connection-old':
      return { outcome: tryAgain(reason, 'gateway', afterMs), first: 'new-connection' };
    case 'connection-penalised':
      return {
        outcome: tryAgain(reason, 'gateway', Math.max(afterMs ?? 0, PENALTY_MS)),
        first: 'new-connection',
      };
    case 'device-busy':
      return { outcome: tryAgain(reason, 'device', afterMs) };
    case 'trouble':
      return { outcome: tryAgain(reason, 'gateway', afterMs) };
  }
}

/** What an answer with an unknown reason means. */
function meaningOf(status: number): Meaning {
  if (status === 401 || status === 403) return 'credentials-wrong';
  if (status === 410) return 'token-gone';
  if (status === 429) return 'device-busy';
  return status >= 400 && status < 500 ? 'message-wrong' : 'trouble';
}

function readBody(body: Uint8Array): {
  readonly reason?: string;
  readonly timestampMs: number | undefined;
} {
  const { reason, timestamp } = readJsonObject(body) ?? {};
  return {
    // Of bounded form, because it is stored and shown.
    ...(typeof reason === 'string' && /^[A-Za-z0-9]{1,64}$/.test(reason) ? { reason } : {}),
    timestampMs: typeof timestamp === 'number' && timestamp >= 0 ? timestamp : undefined,
  };
}

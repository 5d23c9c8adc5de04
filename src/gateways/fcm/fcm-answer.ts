import type { Outcome } from '../../push/gateway.ts';
import { isJsonObject, type JsonObject, readJsonObject } from '../../runtime/json-object.ts';
import { redactedText } from '../../runtime/logging/redact.ts';
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
export interface FcmVerdict {
  readonly outcome: Outcome;
  readonly first?: 'new-access-token';
  /** The project has exceeded its quota. */
  readonly isOverQuota?: true;
}

type Meaning =
  | 'message-wrong'
  | 'message-or-token-wrong'
  | 'token-gone'
  | 'credentials-wrong'
  | 'access-token-wrong'
  | 'over-quota'
  | 'request-lost'
  | 'trouble';

/** FCM's own error codes. Source: push protocol, §8.2, "Errors". */
const fcmMeanings: Readonly<Record<string, Meaning>> = {
  INVALID_ARGUMENT: 'message-or-token-wrong',
  UNREGISTERED: 'token-gone',
  SENDER_ID_MISMATCH: 'token-gone',
  PERMISSION_DENIED: 'credentials-wrong',
  // About the app's APNs or web credential at Firebase; other devices are not concerned.
  THIRD_PARTY_AUTH_ERROR: 'message-wrong',
  UNAUTHENTICATED: 'access-token-wrong',
  QUOTA_EXCEEDED: 'over-quota',
  UNAVAILABLE: 'trouble',
  INTERNAL: 'trouble',
};

/** Status names of all Google services. Source: google.rpc.Code. */
const statusMeanings: Readonly<Record<string, Meaning>> = {
  INVALID_ARGUMENT: 'message-or-token-wrong',
  // For an unknown token FCM says UNREGISTERED; this may be about the project.
  NOT_FOUND: 'message-wrong',
  PERMISSION_DENIED: 'credentials-wrong',
  UNAUTHENTICATED: 'access-token-wrong',
  RESOURCE_EXHAUSTED: 'over-quota',
  ABORTED: 'request-lost',
  CANCELLED: 'request-lost',
  DEADLINE_EXCEEDED: 'trouble',
  INTERNAL: 'trouble',
  UNAVAILABLE: 'trouble',
  UNKNOWN: 'trouble',
};

/** The pause after an exceeded quota if FCM names none. Source: push protocol, §8.2. */
const OVER_QUOTA_MS = 60_000;

const FCM_ERROR = 'type.googleapis.com/google.firebase.fcm.v1.FcmError';
const BAD_REQUEST = 'type.googleapis.com/google.rpc.BadRequest';
const QUOTA_FAILURE = 'type.googleapis.com/google.rpc.QuotaFailure';

/** Fields of a request that name the device. */
const TARGETS: readonly unknown[] = ['message.token', 'message.fid'];

/** A field of the message; all but the token is the same for all devices. */
const OF_MESSAGE = /^message\.\w/;

/** The only sign that a message is too large. Source: push protocol, §8.2. */
const TOO_BIG = /message (?:is )?too big/i;

/** The only sign that a token is malformed. Source: push protocol, §8.2. */
const NO_TOKEN = /registration token is not (?:a )?valid/i;

/** Reads what FCM answered. Source: push protocol, §8.2, "Errors". */
export function readFcmAnswer(answer: GatewayAnswer, nowMs: number): FcmVerdict {
  const { status } = answer;
  if (status >= 200 && status < 300) return { outcome: accepted };
  const error = readError(answer.body);
  const { reason = `http-${status}`, words } = error;
  const afterMs = readRetryAfter(answer.retryAfter, nowMs);
  switch (meaningOf(error, status)) {
    case 'message-wrong':
      return { outcome: refused(reason, words) };
    case 'message-or-token-wrong':
      if (error.isOfToken) return { outcome: tokenGone(reason) };
      return { outcome: error.isOfMessage ? refusedForAll(reason, words) : refused(reason, words) };
    case 'token-gone':
      return { outcome: tokenGone(reason) };
    case 'credentials-wrong':
      return { outcome: notAuthorised(reason, words) };
    case 'access-token-wrong':
      return { outcome: notAuthorised(reason, words), first: 'new-access-token' };
    case 'over-quota': {
      const scope = error.isOfDevice ? 'device' : 'gateway';
      const outcome = tryAgain(reason, scope, afterMs ?? OVER_QUOTA_MS);
      return error.isOfDevice ? { outcome } : { outcome, isOverQuota: true };
    }
    case 'request-lost':
      return { outcome: tryAgain(reason, 'device', afterMs) };
    case 'trouble':
      return { outcome: tryAgain(reason, 'gateway', afterMs) };
  }
}

interface FcmFault {
  readonly errorCode: string | undefined;
  readonly statusName: string | undefined;
  /** The error code, or else the status name. */
  readonly reason: string | undefined;
  readonly words: string;
  /** The token is wrong. */
  readonly isOfToken: boolean;
  /** The message is wrong for all devices. */
  readonly isOfMessage: boolean;
  /** The quota of this device is exceeded. */
  readonly isOfDevice: boolean;
}

function meaningOf({ errorCode, statusName }: FcmFault, status: number): Meaning {
  return (
    lookUp(fcmMeanings, errorCode) ?? lookUp(statusMeanings, statusName) ?? meaningOfStatus(status)
  );
}

function lookUp(
  meanings: Readonly<Record<string, Meaning>>,
  name: string | undefined,
): Meaning | undefined {
  return name !== undefined && Object.hasOwn(meanings, name) ? meanings[name] : undefined;
}

/** What an answer without a known code means. */
function meaningOfStatus(status: number): Meaning {
  if (status === 401) return 'access-token-wrong';
  if (status === 403) return 'credentials-wrong';
  if (status === 429) return 'over-quota';
  if (status === 408 || status === 425) return 'request-lost';
  return status >= 400 && status < 500 ? 'message-wrong' : 'trouble';
}

function readError(body: Uint8Array): FcmFault {
  const { error } = readJsonObject(body) ?? {};
  const { status, message, details } = isJsonObject(error) ? error : {};
  const list = Array.isArray(details) ? details.filter(isJsonObject) : [];
  const ofType = (type: string) => list.filter((detail) => detail['@type'] === type);
  const errorCode = readName(ofType(FCM_ERROR)[0]?.['errorCode']);
  const statusName = readName(status);
  const text = typeof message === 'string' ? message : '';
  const fields = ofType(BAD_REQUEST).flatMap((detail) => listIn(detail, 'fieldViolations'));
  const quotas = ofType(QUOTA_FAILURE).flatMap((detail) => listIn(detail, 'violations'));
  const isOfToken = fields.some(({ field }) => TARGETS.includes(field)) || NO_TOKEN.test(text);
  const fieldsOfMessage = fields.filter(
    ({ field }) => typeof field === 'string' && OF_MESSAGE.test(field),
  );
  return {
    errorCode,
    statusName,
    reason: errorCode ?? statusName,
    words: redactedText(text),
    isOfToken,
    // An error that names no field may be about a malformed token, so other devices are still tried.
    isOfMessage: !isOfToken && (fieldsOfMessage.length > 0 || TOO_BIG.test(text)),
    isOfDevice: quotas.some(({ subject, description }) =>
      /device/i.test(`${subject} ${description}`),
    ),
  };
}

function listIn(detail: JsonObject, name: string): readonly JsonObject[] {
  const list = detail[name];
  return Array.isArray(list) ? list.filter(isJsonObject) : [];
}

/** A name of bounded form, because it is stored and shown. */
function readName(value: unknown): string | undefined {
  return typeof value === 'string' && /^[A-Z][A-Z_]{1,63}$/.test(value) ? value : undefined;
}

import { isFieldValue } from '../../../outgoing/http2/hpack/header-field.ts';
import type { OutgoingAnswer } from '../../../outgoing/request.ts';
import type { Outcome } from '../../../push/gateway.ts';
import { isJsonObject, type JsonObject, readJsonObject } from '../../../runtime/json-object.ts';
import { redactedText } from '../../../runtime/logging/redact.ts';
import { notAuthorised, proxyFailed, tryAgain } from '../../outcomes.ts';
import { readRetryAfter } from '../../retry-after.ts';

/** Why there is no access token, as the outcome of each notification: the account is refused, or Google is unavailable. */
export type FcmTokenFault = Extract<Outcome, { readonly result: 'not-authorised' | 'try-again' }>;

export type ReadToken =
  | { readonly ok: true; readonly token: string; readonly validMs: number }
  | NoToken;

interface NoToken {
  readonly ok: false;
  readonly fault: FcmTokenFault;
}

/** The lifetime of a token if the answer has none: that of Google's tokens. Source: push protocol, §8.2. */
const VALID_SECONDS = 3600;

/** Statuses below 500 after which the same request may succeed. */
const TRY_AGAIN_STATUSES: readonly number[] = [408, 421, 425, 429];

/** Errors that are not about the account. Source: RFC 6749, 4.1.2.1, and what Google adds. */
const TRY_AGAIN_ERRORS: readonly string[] = [
  'internal_failure',
  'server_error',
  'temporarily_unavailable',
];

/** Reads the token in an answer that grants one. */
type ReadGranted = (answer: JsonObject, nowMs: number) => ReadToken;

/** Reads the answer to a request for an access token. Source: RFC 6749, 5. */
export function readTokenResult(
  result: OutgoingAnswer,
  nowMs: number,
  read: ReadGranted = readGranted,
): ReadToken {
  switch (result.result) {
    case 'answered': {
      const answer = readJsonObject(result.body) ?? {};
      if (result.status === 200) return read(answer, nowMs);
      const retryAfter = result.headers.get('retry-after') ?? undefined;
      return readRefusal(result.status, answer, readRetryAfter(retryAfter, nowMs));
    }
    case 'timeout':
      return unavailable('no-answer');
    case 'unreachable':
      return result.proxyReason === undefined
        ? unavailable('unreachable')
        : { ok: false, fault: proxyFailed(result.proxyReason, result.why) };
    case 'not-allowed':
      return refused('address-not-allowed', result.why);
    default:
      return result satisfies never;
  }
}

function readRefusal(status: number, answer: JsonObject, afterMs: number | undefined): ReadToken {
  const error = readError(answer);
  const reason = error ?? `http-${status}`;
  const isUnavailable =
    status < 400 ||
    status >= 500 ||
    TRY_AGAIN_STATUSES.includes(status) ||
    TRY_AGAIN_ERRORS.includes(reason);
  if (isUnavailable) return unavailable(reason, afterMs);
  return refused(reason, wordsOf(answer));
}

/** Reads the token of a service account that another one asked for. Source: IAM, `generateAccessToken`. */
export function readImpersonated(
  { accessToken, expireTime }: JsonObject,
  nowMs: number,
): ReadToken {
  const endsAtMs = typeof expireTime === 'string' ? Date.parse(expireTime) : Number.NaN;
  return readGranted({
    access_token: accessToken,
    expires_in: Number.isNaN(endsAtMs) ? undefined : Math.max(1, (endsAtMs - nowMs) / 1000),
  });
}

function readGranted({ access_token, expires_in }: JsonObject): ReadToken {
  // Something else answered, such as a captive portal.
  if (typeof access_token !== 'string' || access_token === '' || !isFieldValue(access_token)) {
    return unavailable('no-access-token');
  }
  const isTime = typeof expires_in === 'number' && expires_in > 0;
  const validMs = (isTime ? Math.min(expires_in, VALID_SECONDS) : VALID_SECONDS) * 1000;
  return { ok: true, token: access_token, validMs };
}

/** An error code of bounded form, because it is stored and shown. IAM has it as the name of a status. */
function readError({ error }: JsonObject): string | undefined {
  const code = isJsonObject(error) ? String(error['status']).toLowerCase() : error;
  return typeof code === 'string' && /^[a-z_]{1,64}$/.test(code) ? code : undefined;
}

function wordsOf({ error, error_description }: JsonObject): string {
  const words = isJsonObject(error) ? error['message'] : error_description;
  return typeof words === 'string' ? words : '';
}

/** It may be granted later. `words` say more. */
export function unavailable(why: string, afterMs?: number, words?: string): NoToken {
  const fault = tryAgain(`access-token-${why}`, 'connection', afterMs);
  return { ok: false, fault: words === undefined ? fault : { ...fault, words } };
}

function refused(why: string, words: string): ReadToken {
  const fault = notAuthorised(`access-token-${why}`, redactedText(words));
  return { ok: false, fault: { ...fault, scope: 'connection' } };
}

import { isJsonObject, type JsonObject } from '../../../runtime/json-object.ts';
import {
  type FcmCredential,
  isHttpUrl,
  MESSAGING_SCOPE,
  type ReadCredential,
  TOKEN_BOUNDS,
  type TokenRequest,
} from './credential.ts';
import { readSubjectToken, type SubjectSource, subjectSourceOf } from './subject-token.ts';
import { type ReadToken, readImpersonated, readTokenResult } from './token-answer.ts';

/** The `type` of a file that says how to swap a token of another issuer for one of Google. Source: AIP-4117. */
export const EXTERNAL_ACCOUNT = 'external_account';

interface ExternalAccount {
  readonly projectId: string;
  readonly audience: string;
  readonly subjectTokenType: string;
  /** Where the token is swapped. */
  readonly tokenUrl: string;
  /** Where the token of a service account is requested, if the swapped one may not send itself. */
  readonly impersonationUrl: string | undefined;
  readonly source: SubjectSource;
}

/** Google's token is swapped for another one at IAM, whose scope is that of all its services. Source: AIP-4117. */
const IMPERSONATING_SCOPE = 'https://www.googleapis.com/auth/cloud-platform';

/** The longest validity that every project allows. Source: IAM, `generateAccessToken`. */
const IMPERSONATED_LIFETIME = '3600s';

/** Reads the JSON of an external account, which names no project. A fault never quotes the file. */
export function readExternalAccount(file: JsonObject, projectId: string): ReadCredential {
  const { audience, subject_token_type, token_url, credential_source } = file;
  const { service_account_impersonation_url = undefined } = file;
  if (typeof audience !== 'string' || audience === '') return fault('its audience is missing');
  if (typeof subject_token_type !== 'string' || subject_token_type === '') {
    return fault('its subject_token_type is missing');
  }
  if (!isHttpUrl(token_url)) return fault('its token_url is not an http or https address');
  if (
    service_account_impersonation_url !== undefined &&
    !isHttpUrl(service_account_impersonation_url)
  ) {
    return fault('its service_account_impersonation_url is not an http or https address');
  }
  if (!isJsonObject(credential_source)) return fault('its credential_source is missing');
  const source = subjectSourceOf(credential_source);
  if (typeof source === 'string') return fault(source);
  return {
    ok: true,
    credential: externalCredential({
      projectId,
      audience,
      subjectTokenType: subject_token_type,
      tokenUrl: token_url,
      impersonationUrl: service_account_impersonation_url,
      source,
    }),
  };
}

function externalCredential(account: ExternalAccount): FcmCredential {
  const { projectId, source, impersonationUrl } = account;
  return {
    projectId,
    async requestToken(request) {
      const subject = await readSubjectToken(source, request);
      if (!subject.ok) return subject;
      const swapped = await swap(account, subject.token, request);
      return swapped.ok && impersonationUrl !== undefined
        ? impersonate(impersonationUrl, swapped.token, request)
        : swapped;
    },
  };
}

/** Swaps a token of the other issuer for one of Google. Source: RFC 8693, 2. */
async function swap(
  { audience, subjectTokenType, tokenUrl, impersonationUrl }: ExternalAccount,
  subjectToken: string,
  { send, nowMs, signal }: TokenRequest,
): Promise<ReadToken> {
  const form = {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    audience,
    scope: impersonationUrl === undefined ? MESSAGING_SCOPE : IMPERSONATING_SCOPE,
    requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    subject_token: subjectToken,
    subject_token_type: subjectTokenType,
  };
  const result = await send({
    ...TOKEN_BOUNDS,
    url: tokenUrl,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(form).toString(),
    signal,
  });
  return readTokenResult(result, nowMs());
}

async function impersonate(
  url: string,
  token: string,
  { send, nowMs, signal }: TokenRequest,
): Promise<ReadToken> {
  const body = { scope: [MESSAGING_SCOPE], lifetime: IMPERSONATED_LIFETIME };
  const result = await send({
    ...TOKEN_BOUNDS,
    url,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal,
  });
  return readTokenResult(result, nowMs(), readImpersonated);
}

function fault(why: string): ReadCredential {
  return { ok: false, why };
}

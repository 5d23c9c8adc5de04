import { sign } from 'node:crypto';
import { unsignedJwt } from '../unsigned-jwt.ts';
import type { ServiceAccount } from './service-account.ts';

/** What an access token is to be good for. Source: push protocol, §8.2. */
const SCOPE = 'https://www.googleapis.com/auth/firebase.messaging';

/** The longest that Google takes an assertion for. Source: the same. */
const VALID_SECONDS = 3600;

/** How far behind ours Google's clock may be: to it, no assertion is of the future. */
const CLOCK_LEEWAY_SECONDS = 30;

/** The body of a request for an access token. Sources: push protocol, §8.2, and RFC 7523, 2.1. */
export function tokenRequestBody(account: ServiceAccount, nowMs: number): string {
  return new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
    assertion: signAssertion(account, nowMs),
  }).toString();
}

/** Says who asks. */
function signAssertion(account: ServiceAccount, nowMs: number): string {
  const { clientEmail, privateKey, privateKeyId, tokenUri } = account;
  const issuedAtSeconds = Math.floor(nowMs / 1000) - CLOCK_LEEWAY_SECONDS;
  const signed = unsignedJwt(
    { alg: 'RS256', typ: 'JWT', kid: privateKeyId },
    {
      iss: clientEmail,
      scope: SCOPE,
      aud: tokenUri,
      iat: issuedAtSeconds,
      exp: issuedAtSeconds + VALID_SECONDS,
    },
  );
  return `${signed}.${sign('sha256', Buffer.from(signed), privateKey).toString('base64url')}`;
}

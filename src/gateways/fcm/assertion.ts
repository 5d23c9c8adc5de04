import { signJwt } from '../jwt.ts';
import type { ServiceAccount } from './service-account.ts';

/** The permission that an access token is for. Source: push protocol, §8.2. */
const SCOPE = 'https://www.googleapis.com/auth/firebase.messaging';

/** The longest validity that Google accepts. Source: the same. */
const VALID_SECONDS = 3600;

/** How far Google's clock may be behind ours: it refuses assertions from the future. */
const CLOCK_LEEWAY_SECONDS = 30;

/** The body of a request for an access token. Sources: push protocol, §8.2, and RFC 7523, 2.1. */
export function tokenRequestBody(account: ServiceAccount, nowMs: number): string {
  return new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
    assertion: signAssertion(account, nowMs),
  }).toString();
}

/** Signs the claims with the key of the account. */
function signAssertion(account: ServiceAccount, nowMs: number): string {
  const { clientEmail, privateKey, privateKeyId, tokenUri } = account;
  const issuedAtSeconds = Math.floor(nowMs / 1000) - CLOCK_LEEWAY_SECONDS;
  const claims = {
    iss: clientEmail,
    scope: SCOPE,
    aud: tokenUri,
    iat: issuedAtSeconds,
    exp: issuedAtSeconds + VALID_SECONDS,
  };
  return signJwt({ typ: 'JWT', kid: privateKeyId }, claims, privateKey);
}

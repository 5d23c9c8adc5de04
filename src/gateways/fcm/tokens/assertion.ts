import { signJwt } from '../../jwt.ts';
import { type FcmCredential, MESSAGING_SCOPE, TOKEN_BOUNDS } from './credential.ts';
import type { ServiceAccount } from './service-account.ts';
import { readTokenResult } from './token-answer.ts';

/** The longest validity that Google accepts. Source: push protocol, §8.2. */
const VALID_SECONDS = 3600;

/** How far Google's clock may be behind ours: it refuses assertions from the future. */
const CLOCK_LEEWAY_SECONDS = 30;

/** Sends with the key of a service account, for the project of the account unless another one is given. */
export function credentialOf(
  account: ServiceAccount,
  projectId = account.projectId,
): FcmCredential {
  return {
    projectId,
    async requestToken({ send, nowMs, signal }) {
      const result = await send({
        ...TOKEN_BOUNDS,
        url: account.tokenUri,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: tokenRequestBody(account, nowMs()),
        signal,
      });
      return readTokenResult(result, nowMs());
    },
  };
}

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
    scope: MESSAGING_SCOPE,
    aud: tokenUri,
    iat: issuedAtSeconds,
    exp: issuedAtSeconds + VALID_SECONDS,
  };
  return signJwt({ typ: 'JWT', kid: privateKeyId }, claims, privateKey);
}

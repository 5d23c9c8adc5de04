import type { JsonObject } from '../../runtime/json-object.ts';
import { isSignedBy, parseJwt } from '../../runtime/tokens/jwt.ts';

export type ReadJwt =
  | {
      readonly ok: true;
      readonly claims: JsonObject /** The one that it was signed with. */;
      readonly secret: string;
    }
  /** `why` is a sentence that quotes nothing of the token. */
  | { readonly ok: false; readonly why: string };

/**
 * Verifies a JWT with any of the secrets, and returns its claims. Only HS256 is supported: the algorithm that the token
 * names is never used. The key is the text of the secret.
 */
export function readJwt(token: string, secrets: readonly string[]): ReadJwt {
  const jwt = parseJwt(token);
  if (jwt === undefined || jwt.signature === '') {
    return { ok: false, why: 'The Beams Token is malformed: it must be a JWT' };
  }
  if (jwt.header['alg'] !== 'HS256') {
    return { ok: false, why: 'The Beams Token must be signed with the algorithm HS256' };
  }
  // RFC 7515, 4.1.11: it lists extensions that must be supported, and we support none.
  if (Object.hasOwn(jwt.header, 'crit')) {
    return { ok: false, why: 'The Beams Token has the header crit, which is not supported' };
  }
  const secret = secrets.find((one) => isSignedBy(one, jwt));
  if (secret === undefined) {
    return { ok: false, why: 'The signature of the Beams Token does not match a secret key' };
  }
  const claims = jwt.readClaims();
  return claims === undefined
    ? { ok: false, why: 'The Beams Token is malformed: its claims must be a JSON object' }
    : { ok: true, claims, secret };
}

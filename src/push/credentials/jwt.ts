import { createHmac, timingSafeEqual } from 'node:crypto';
import { type JsonObject, readJsonObject } from '../../runtime/json-object.ts';
import { decodeBase64 } from './base64url.ts';

export type ReadJwt =
  | {
      readonly ok: true;
      readonly claims: JsonObject /** The one that it was signed with. */;
      readonly secret: string;
    }
  /** `why` is a sentence that quotes nothing of the token. */
  | { readonly ok: false; readonly why: string };

/** In characters. Tokens of the official libraries have fewer than 1,000. */
const TOKEN_LENGTH_MAX = 8192;

/** RFC 7515, 7.1: three parts in base64url without padding. */
const COMPACT = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)$/;

/**
 * Verifies a JWT with any of the secrets, and returns its claims. Only HS256 is supported: the algorithm that the token
 * names is never used. The key is the text of the secret.
 */
export function readJwt(token: string, secrets: readonly string[]): ReadJwt {
  const parts = token.length <= TOKEN_LENGTH_MAX ? COMPACT.exec(token) : null;
  const [, header, payload, signature] = parts ?? [];
  const fields = header === undefined ? undefined : decodePart(header);
  if (fields === undefined || payload === undefined || signature === undefined) {
    return { ok: false, why: 'The Beams Token is malformed: it must be a JWT' };
  }
  if (fields['alg'] !== 'HS256') {
    return { ok: false, why: 'The Beams Token must be signed with the algorithm HS256' };
  }
  // RFC 7515, 4.1.11: it lists extensions that must be supported, and we support none.
  if (Object.hasOwn(fields, 'crit')) {
    return { ok: false, why: 'The Beams Token has the header crit, which is not supported' };
  }
  const signed = `${header}.${payload}`;
  const secret = secrets.find((one) => isSignature(one, signed, signature));
  if (secret === undefined) {
    return { ok: false, why: 'The signature of the Beams Token does not match a secret key' };
  }
  const claims = decodePart(payload);
  return claims === undefined
    ? { ok: false, why: 'The Beams Token is malformed: its claims must be a JSON object' }
    : { ok: true, claims, secret };
}

function decodePart(part: string): JsonObject | undefined {
  const bytes = decodeBase64(part);
  return bytes && readJsonObject(bytes);
}

/** Compares in constant time. */
function isSignature(secret: string, signed: string, signature: string): boolean {
  const expected = Buffer.from(createHmac('sha256', secret).update(signed).digest('base64url'));
  const sent = Buffer.from(signature);
  return expected.length === sent.length && timingSafeEqual(expected, sent);
}

import { isJsonObject, type JsonObject, readJsonObject } from '../json-object.ts';
import { readJwkKey, type TokenAlgorithm } from './token-keys.ts';

/** Key sets of issuers of tokens. Source: RFC 7517; identity, §3.4. */

/** A public key of a key set. It is a plain object, so that it can be sent to another thread. */
export interface KeySetKey {
  /** The id by which tokens name it; `undefined`: it has none, and fits every token of its algorithm. */
  readonly kid: string | undefined;
  readonly algorithm: TokenAlgorithm;
  readonly pem: string;
}

export type ParsedKeySet =
  | {
      readonly ok: true;
      readonly keys: readonly KeySetKey[];
      /** Why keys are not used, without repetitions. */
      readonly ignored: readonly string[];
    }
  | { readonly ok: false; readonly why: string };

export const KEY_SET_BYTES_MAX = 65_536;
const KEY_SET_KEYS_MAX = 100;

/** The limit of a key's id. Characters. */
const KID_LENGTH_MAX = 200;

/** The fields of a public key, by its type. Others are not read. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  RSA: ['n', 'e'],
  EC: ['crv', 'x', 'y'],
  OKP: ['crv', 'x'],
};

/** The fields of private keys. RFC 7518, 6.2.2, 6.3.2 and 6.4.1. */
const PRIVATE_FIELDS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];

/**
 * Reads a key set that an issuer has answered with. Keys that do not verify tokens are ignored, as RFC 7517, 5 says: sets
 * also have keys for encryption and of algorithms that we do not support.
 */
export function readKeySet(body: Uint8Array): ParsedKeySet {
  if (body.length > KEY_SET_BYTES_MAX) {
    return { ok: false, why: `it has more than ${KEY_SET_BYTES_MAX} bytes` };
  }
  const listed = readJsonObject(body)?.['keys'];
  if (!Array.isArray(listed)) return { ok: false, why: 'it is no JSON object with `keys`' };
  if (listed.length > KEY_SET_KEYS_MAX) {
    return { ok: false, why: `it has more than ${KEY_SET_KEYS_MAX} keys` };
  }
  const keys: KeySetKey[] = [];
  const ignored = new Set<string>();
  for (const one of listed) {
    const read = isJsonObject(one) ? readKey(one) : 'no JSON object';
    if (typeof read === 'string') ignored.add(read);
    else keys.push(read);
  }
  return { ok: true, keys, ignored: [...ignored] };
}

/** Reads a key, or returns why it is not used. */
function readKey(jwk: JsonObject): KeySetKey | string {
  const { kty, kid, use, key_ops, alg } = jwk;
  // Whoever has read the set could sign tokens with it.
  if (PRIVATE_FIELDS.some((name) => Object.hasOwn(jwk, name))) return 'private or secret';
  if (kid !== undefined && (typeof kid !== 'string' || kid.length > KID_LENGTH_MAX)) {
    return `a kid that is no text of at most ${KID_LENGTH_MAX} characters`;
  }
  if (use !== undefined && use !== 'sig') return 'not for signatures';
  if (key_ops !== undefined && !(Array.isArray(key_ops) && key_ops.includes('verify'))) {
    return 'not for signatures';
  }
  const fields = typeof kty === 'string' && Object.hasOwn(FIELDS, kty) ? FIELDS[kty] : undefined;
  if (typeof kty !== 'string' || fields === undefined) return UNSUPPORTED;
  const values = fields.map((name) => jwk[name]);
  if (!values.every((value) => typeof value === 'string')) return 'incomplete';
  const read = readJwkKey({
    kty,
    ...Object.fromEntries(fields.map((name, n) => [name, values[n] ?? ''])),
  });
  if (read === undefined) return UNSUPPORTED;
  const { algorithm, key } = read;
  if (alg !== undefined && alg !== algorithm) return 'of another alg than RS256, ES256 or EdDSA';
  return { kid, algorithm, pem: String(key.export({ type: 'spki', format: 'pem' })) };
}

const UNSUPPORTED = 'neither RSA of 2048 to 4096 bits, nor P-256, nor Ed25519';

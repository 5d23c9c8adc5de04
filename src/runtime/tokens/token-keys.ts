import { createPublicKey, type KeyObject, verify } from 'node:crypto';

/** Public keys of issuers of tokens. Source: RFC 7518; identity, §3.4. */

/** The algorithms of tokens that public keys verify. */
export type TokenAlgorithm = 'RS256' | 'ES256' | 'EdDSA';

/** A public key, and the only algorithm that it is used with. */
export interface TokenKey {
  readonly algorithm: TokenAlgorithm;
  readonly key: KeyObject;
}

const RSA_BITS_MIN = 2048;

/** Verifying takes longer with longer keys and larger exponents, up to milliseconds. Real keys have the exponent 65537, or a smaller one. */
const RSA_BITS_MAX = 4096;
const RSA_EXPONENT_MAX = 65_537n;

/** Completes the sentence "must …". */
export const TOKEN_KEY_RULE = `be a public key as PEM: RSA of ${RSA_BITS_MIN} to ${RSA_BITS_MAX} bits, P-256 or Ed25519`;

/** Reads a public key; `undefined` if it is none, or one that is not used. A private key is none. */
export function readTokenKey(pem: string): TokenKey | undefined {
  return pem.includes('-----BEGIN PUBLIC KEY-----')
    ? tokenKeyOf(() => createPublicKey(pem))
    : undefined;
}

/** Reads the public part of a JWK, of which only the fields given here are read. */
export function readJwkKey(jwk: Readonly<Record<string, string>>): TokenKey | undefined {
  return tokenKeyOf(() => createPublicKey({ format: 'jwk', key: jwk }));
}

function tokenKeyOf(read: () => KeyObject): TokenKey | undefined {
  try {
    const key = read();
    const algorithm = algorithmOf(key);
    return algorithm === undefined ? undefined : { algorithm, key };
  } catch {
    // It is no key. The caller says so.
    return undefined;
  }
}

function algorithmOf({
  asymmetricKeyType: type,
  asymmetricKeyDetails: details,
}: KeyObject): TokenAlgorithm | undefined {
  if (type === 'rsa') {
    const { modulusLength: bits = 0, publicExponent: exponent = 0n } = details ?? {};
    const isUsed = bits >= RSA_BITS_MIN && bits <= RSA_BITS_MAX && exponent <= RSA_EXPONENT_MAX;
    return isUsed && exponent >= 3n && exponent % 2n === 1n ? 'RS256' : undefined;
  }
  if (type === 'ec') return details?.namedCurve === 'prime256v1' ? 'ES256' : undefined;
  return type === 'ed25519' ? 'EdDSA' : undefined;
}

/** Whether a text has this signature, in base64url. */
export function isSignedWith(
  { algorithm, key }: TokenKey,
  { signed, signature }: { readonly signed: string; readonly signature: string },
): boolean {
  const hash = algorithm === 'EdDSA' ? null : 'sha256';
  const how = algorithm === 'ES256' ? { key, dsaEncoding: 'ieee-p1363' as const } : key;
  return verify(hash, Buffer.from(signed), how, Buffer.from(signature, 'base64url'));
}

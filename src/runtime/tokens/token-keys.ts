import { createPublicKey, type KeyObject, verify } from 'node:crypto';

/** Public keys of issuers of tokens. Source: RFC 7518; identity, §3.4. */

/** A public key, and the only algorithm that it is used with. */
export interface TokenKey {
  readonly algorithm: 'RS256' | 'ES256' | 'EdDSA';
  readonly key: KeyObject;
}

const RSA_BITS_MIN = 2048;

/** Completes the sentence "must …". */
export const TOKEN_KEY_RULE = 'be a public key as PEM: RSA of at least 2048 bits, P-256 or Ed25519';

/** Reads a public key; `undefined` if it is none, or one that is not used. A private key is none. */
export function readTokenKey(pem: string): TokenKey | undefined {
  if (!pem.includes('-----BEGIN PUBLIC KEY-----')) return undefined;
  let key: KeyObject;
  try {
    key = createPublicKey(pem);
  } catch {
    // It is no key. The caller says so.
    return undefined;
  }
  const algorithm = algorithmOf(key);
  return algorithm === undefined ? undefined : { algorithm, key };
}

function algorithmOf({
  asymmetricKeyType: type,
  asymmetricKeyDetails: details,
}: KeyObject): TokenKey['algorithm'] | undefined {
  if (type === 'rsa') return (details?.modulusLength ?? 0) >= RSA_BITS_MIN ? 'RS256' : undefined;
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

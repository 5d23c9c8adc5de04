import { createECDH } from 'node:crypto';

/** A point of P-256 as 65 bytes, uncompressed. Source: RFC 8292, 3.2. */
const PUBLIC_KEY_BYTES = 65;

/** The byte that an uncompressed point begins with. */
const UNCOMPRESSED = 4;

const PRIVATE_KEY_BYTES = 32;

/** Tells whether a text has the form of a VAPID public key. */
export function isVapidPublicKey(text: string): boolean {
  const bytes = bytesOf(text);
  return bytes?.length === PUBLIC_KEY_BYTES && bytes[0] === UNCOMPRESSED;
}

/** Tells whether a text has the form of a VAPID private key. */
export function isVapidPrivateKey(text: string): boolean {
  return bytesOf(text)?.length === PRIVATE_KEY_BYTES;
}

/** Tells whether what is signed with the private key can be checked with the public one. */
export function isVapidPair(publicKey: string, privateKey: string): boolean {
  const ecdh = createECDH('prime256v1');
  try {
    ecdh.setPrivateKey(Buffer.from(privateKey, 'base64url'));
  } catch {
    // Not every number of 32 bytes is a private key.
    return false;
  }
  return ecdh.getPublicKey().equals(Buffer.from(publicKey, 'base64url'));
}

/** Reads URL-safe base64, padded or not. */
function bytesOf(text: string): Buffer | undefined {
  return /^[\w-]+={0,2}$/.test(text) ? Buffer.from(text, 'base64url') : undefined;
}

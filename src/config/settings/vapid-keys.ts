import { createECDH } from 'node:crypto';

/** A point of P-256 as 65 bytes, uncompressed. Source: RFC 8292, 3.2. */
const PUBLIC_KEY_BYTES = 65;

/** The first byte of an uncompressed point. */
const UNCOMPRESSED = 4;

const PRIVATE_KEY_BYTES = 32;

/** Whether a text has the form of a VAPID public key. */
export function isVapidPublicKey(text: string): boolean {
  const bytes = bytesOf(text);
  return bytes?.length === PUBLIC_KEY_BYTES && bytes[0] === UNCOMPRESSED;
}

/** Whether a text has the form of a VAPID private key. */
export function isVapidPrivateKey(text: string): boolean {
  return bytesOf(text)?.length === PRIVATE_KEY_BYTES;
}

/** Whether the public key verifies what the private key signs. */
export function isVapidPair(publicKey: string, privateKey: string): boolean {
  const ecdh = createECDH('prime256v1');
  try {
    ecdh.setPrivateKey(Buffer.from(privateKey, 'base64url'));
  } catch {
    // Not every 32 bytes are a private key.
    return false;
  }
  return ecdh.getPublicKey().equals(Buffer.from(publicKey, 'base64url'));
}

/** Reads URL-safe base64, padded or not. */
function bytesOf(text: string): Buffer | undefined {
  return /^[\w-]+={0,2}$/.test(text) ? Buffer.from(text, 'base64url') : undefined;
}

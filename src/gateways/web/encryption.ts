import { createCipheriv, createECDH, type ECDH } from 'node:crypto';
import { CryptoHasher } from 'bun';

/** The keys that a browser made for one subscription, for end-to-end encryption. */
export interface SubscriptionKeys {
  /** The public key of the browser: an uncompressed point of P-256. */
  readonly p256dh: Uint8Array;
  /** 16 bytes that only the browser and its application server know. */
  readonly auth: Uint8Array;
}

/** Made anew for each message. Source: RFC 8291, 3.1. */
export interface MessageSecrets {
  readonly salt: Uint8Array;
  readonly pair: ECDH;
  /** The pair's public key: exporting it from the pair takes as long as all the hashes. */
  readonly publicKey: Uint8Array;
}

/** The text of a publish, ready to be encrypted for each browser. */
export interface Plaintext {
  /** With the delimiter byte at its end. */
  readonly delimited: Buffer;
}

const SALT_BYTES = 16;
const POINT_BYTES = 65;
const KEY_BYTES = 16;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** The message size that every push service accepts, so one record is always enough. Source: RFC 8030, 7.2. */
const RECORD_BYTES = 4096;

/** Salt, record size, and public key with its length. Source: RFC 8188, 2.1. */
const HEADER_BYTES = SALT_BYTES + 4 + 1 + POINT_BYTES;

/** The last byte of the last record. Source: RFC 8188, 2. */
const LAST_RECORD = Uint8Array.of(2);

// Each HKDF output is at most one hash long, so its expansion is one HMAC with a counter byte of 1.
const KEY_INFO = Buffer.from('WebPush: info\0');
const CONTENT_KEY_INFO = Buffer.from('Content-Encoding: aes128gcm\0\x01');
const NONCE_INFO = Buffer.from('Content-Encoding: nonce\0\x01');
const FIRST = Uint8Array.of(1);

/** Prepares a text for encryption. */
export function plaintextOf(text: string): Plaintext {
  return { delimited: Buffer.concat([Buffer.from(text), LAST_RECORD]) };
}

function newMessageSecrets(): MessageSecrets {
  const pair = createECDH('prime256v1');
  const publicKey = pair.generateKeys();
  return { salt: crypto.getRandomValues(new Uint8Array(SALT_BYTES)), pair, publicKey };
}

/**
 * Encrypts a message for one browser with aes128gcm. Sources: RFC 8291 and RFC 8188.
 *
 * It takes 52 µs on one core (Bun 1.4), nine tenths of them for two multiplications on the curve: 10 µs for the new key
 * pair and 38 µs for the shared secret. `KeyObject`s are as fast; WebCrypto takes 80 µs, spread over threads. One pair
 * for several browsers would save 7 µs, and reveal to their push service that the messages belong together.
 */
export function encrypt(
  { delimited }: Plaintext,
  { p256dh, auth }: SubscriptionKeys,
  { salt, pair, publicKey }: MessageSecrets = newMessageSecrets(),
): Buffer<ArrayBuffer> {
  const shared = hmac(auth, pair.computeSecret(p256dh));
  const material = hmac(salt, hmac(shared, KEY_INFO, p256dh, publicKey, FIRST));
  const contentKey = hmac(material, CONTENT_KEY_INFO).subarray(0, KEY_BYTES);
  const nonce = hmac(material, NONCE_INFO).subarray(0, NONCE_BYTES);

  const cipher = createCipheriv('aes-128-gcm', contentKey, nonce);
  const message = Buffer.alloc(HEADER_BYTES + delimited.length + TAG_BYTES);
  message.set(salt, 0);
  message.writeUInt32BE(RECORD_BYTES, SALT_BYTES);
  message[SALT_BYTES + 4] = POINT_BYTES;
  message.set(publicKey, SALT_BYTES + 5);
  message.set(cipher.update(delimited), HEADER_BYTES);
  // Returns no bytes, but the tag is only available afterwards.
  cipher.final();
  message.set(cipher.getAuthTag(), HEADER_BYTES + delimited.length);
  return message;
}

function hmac(key: Uint8Array, ...parts: readonly Uint8Array[]): Buffer {
  const hash = new CryptoHasher('sha256', key);
  for (const part of parts) hash.update(part);
  return hash.digest();
}

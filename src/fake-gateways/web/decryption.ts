import { createDecipheriv, diffieHellman, hkdfSync } from 'node:crypto';
import { type P256Pair, publicKeyFrom } from '../p256.ts';

/** The keys that a browser made for one subscription. */
export interface BrowserKeys {
  readonly pair: P256Pair;
  readonly auth: Uint8Array;
}

const SALT_BYTES = 16;
const TAG_BYTES = 16;

/** The text of a message, or why a browser cannot read it. */
export type ReadMessage =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly why: string };

/** Decrypts a message as a browser does: a single record of aes128gcm. Sources: RFC 8188 and RFC 8291. */
export function decryptMessage(message: Uint8Array, { pair, auth }: BrowserKeys): ReadMessage {
  const bytes = Buffer.from(message);
  const keyLength = bytes[SALT_BYTES + 4] ?? 0;
  const headerBytes = SALT_BYTES + 5 + keyLength;
  if (keyLength !== 65) return fault(`its key has ${keyLength} bytes`);
  if (bytes.length <= headerBytes + TAG_BYTES) return fault('it is too short');
  const recordBytes = bytes.readUInt32BE(SALT_BYTES);
  if (bytes.length - headerBytes > recordBytes) return fault('it has more than one record');

  const salt = bytes.subarray(0, SALT_BYTES);
  const senderKey = bytes.subarray(SALT_BYTES + 5, headerBytes);
  const padded = openRecord(bytes.subarray(headerBytes), salt, senderKey, { pair, auth });
  if (padded === undefined) return fault('it is encrypted for other keys');
  const end = padded.findLastIndex((byte) => byte !== 0);
  if (padded[end] !== 2) return fault('its record is not the last');
  return { ok: true, text: padded.toString('utf8', 0, end) };
}

function openRecord(
  record: Buffer,
  salt: Buffer,
  senderKey: Buffer,
  { pair, auth }: BrowserKeys,
): Buffer | undefined {
  try {
    const own = Buffer.from(pair.publicText, 'base64url');
    const publicKey = publicKeyFrom(senderKey.toString('base64url'));
    const shared = diffieHellman({ privateKey: pair.privateKey, publicKey });
    const info = Buffer.concat([Buffer.from('WebPush: info\0'), own, senderKey]);
    const material = hkdf(shared, auth, info, 32);
    const key = hkdf(material, salt, Buffer.from('Content-Encoding: aes128gcm\0'), 16);
    const nonce = hkdf(material, salt, Buffer.from('Content-Encoding: nonce\0'), 12);
    const decipher = createDecipheriv('aes-128-gcm', key, nonce);
    decipher.setAuthTag(record.subarray(-TAG_BYTES));
    return Buffer.concat([decipher.update(record.subarray(0, -TAG_BYTES)), decipher.final()]);
  } catch (error) {
    // An invalid point or a wrong tag.
    if (error instanceof Error) return undefined;
    throw error;
  }
}

function hkdf(material: Uint8Array, salt: Uint8Array, info: Uint8Array, bytes: number): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', material, salt, info, bytes));
}

function fault(why: string): ReadMessage {
  return { ok: false, why };
}

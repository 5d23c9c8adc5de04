import { createECDH, createPrivateKey, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileFault } from '../../runtime/error-code.ts';
import { textFault } from '../../runtime/tls/pem.ts';

/** A VAPID key pair in URL-safe base64 without padding. */
export interface VapidPair {
  /** A point of P-256: 65 bytes. */
  readonly publicKey: string;
  /** 32 bytes. */
  readonly privateKey: string;
}

/** The settings that a pair is made from. A private key in one of two forms is required. */
export interface VapidKeySettings {
  readonly publicKey?: string | undefined;
  readonly privateKey?: string | undefined;
  readonly privateKeyFile?: string | undefined;
}

/** A pair, or the setting that is wrong and why. No message quotes a key. */
export type ReadVapidPair =
  | { readonly ok: true; readonly pair: VapidPair }
  | { readonly ok: false; readonly setting: keyof VapidKeySettings | ''; readonly why: string };

/** What a text must be that `readVapidPrivateKey` reads. */
export const PRIVATE_KEY_RULE = 'must be a P-256 private key: base64url, PEM or DER';

/** A point of P-256 as 65 bytes, uncompressed. Source: RFC 8292, 3.2. */
const PUBLIC_KEY_BYTES = 65;

/** The first byte of an uncompressed point. */
const UNCOMPRESSED = 4;

const PRIVATE_KEY_BYTES = 32;

const CURVE = 'prime256v1';

/** Whether a text has the form of a VAPID public key. */
export function isVapidPublicKey(text: string): boolean {
  const bytes = bytesOf(text);
  return bytes?.length === PUBLIC_KEY_BYTES && bytes[0] === UNCOMPRESSED;
}

/**
 * Reads a private key in any form that tools for web push write: its 32 bytes in URL-safe or standard base64, PEM
 * (PKCS#8 or SEC1), or base64 of the DER of these. Returns the bytes in URL-safe base64; `undefined`: it is none.
 */
export function readVapidPrivateKey(text: string): string | undefined {
  const trimmed = text.trim();
  const key = trimmed.startsWith('-----BEGIN ')
    ? fromKey(() => createPrivateKey(trimmed))
    : fromBytes(bytesOf(trimmed.replace(/\s+/g, '')));
  return key !== undefined && publicKeyOf(key) !== undefined ? key : undefined;
}

/** Makes a pair from settings. Reads the file, if one is named, and computes a public key that is missing. */
export function readVapidPair(given: VapidKeySettings): ReadVapidPair {
  const { privateKeyFile, privateKey } = given;
  if ((privateKeyFile === undefined) === (privateKey === undefined)) {
    return { ok: false, setting: '', why: 'needs either privateKey or privateKeyFile' };
  }
  const text = privateKey ?? readKeyFile(privateKeyFile ?? '');
  if (typeof text !== 'string') return { ok: false, setting: 'privateKeyFile', why: text.fault };
  const key = readVapidPrivateKey(text);
  const publicKey = key && publicKeyOf(key);
  if (key === undefined || publicKey === undefined) {
    return privateKeyFile === undefined
      ? { ok: false, setting: 'privateKey', why: PRIVATE_KEY_RULE }
      : { ok: false, setting: 'privateKeyFile', why: `${privateKeyFile} ${PRIVATE_KEY_RULE}` };
  }
  return given.publicKey === undefined || withoutPadding(given.publicKey) === publicKey
    ? { ok: true, pair: { publicKey, privateKey: key } }
    : { ok: false, setting: '', why: 'publicKey and privateKey do not belong together' };
}

/** Some tools pad a key. Browsers expect it without padding. */
export function withoutPadding(key: string): string {
  return key.replace(/=+$/, '');
}

/** `undefined`: not every 32 bytes are a private key. */
function publicKeyOf(privateKey: string): string | undefined {
  const ecdh = createECDH(CURVE);
  try {
    ecdh.setPrivateKey(Buffer.from(privateKey, 'base64url'));
  } catch {
    return undefined;
  }
  return ecdh.getPublicKey('base64url');
}

function fromBytes(bytes: Buffer | undefined): string | undefined {
  if (bytes === undefined) return undefined;
  if (bytes.length > PRIVATE_KEY_BYTES) {
    return (
      fromKey(() => createPrivateKey({ key: bytes, format: 'der', type: 'pkcs8' })) ??
      fromKey(() => createPrivateKey({ key: bytes, format: 'der', type: 'sec1' }))
    );
  }
  // Some libraries leave out a leading zero.
  if (bytes.length < PRIVATE_KEY_BYTES - 1) return undefined;
  const padded = Buffer.alloc(PRIVATE_KEY_BYTES);
  padded.set(bytes, PRIVATE_KEY_BYTES - bytes.length);
  return padded.toString('base64url');
}

/** The bytes of a key; `undefined` if it cannot be read or is of another curve. */
function fromKey(read: () => KeyObject): string | undefined {
  try {
    const key = read();
    if (key.asymmetricKeyDetails?.namedCurve !== CURVE) return undefined;
    return key.export({ format: 'jwk' }).d;
  } catch {
    // Every error means that this is no such key. Its message may quote the text.
    return undefined;
  }
}

function readKeyFile(file: string): string | { readonly fault: string } {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    return { fault: `${file} ${fileFault(error)}` };
  }
  const fault = textFault(bytes);
  return fault === undefined ? bytes.toString() : { fault: `${file} ${fault}` };
}

/** Reads URL-safe or standard base64, padded or not. */
function bytesOf(text: string): Buffer | undefined {
  return /^(?:[\w-]+|[A-Za-z0-9+/]+)={0,2}$/.test(text) ? Buffer.from(text, 'base64') : undefined;
}

import { createECDH, randomBytes, randomInt, randomUUID } from 'node:crypto';
import type { AppKey } from '../channels/app.ts';

/** The default contact for push services. Apple refuses a contact at localhost. Source: push protocol, §8.3.3. */
const VAPID_SUBJECT = 'mailto:push@example.com';

/** A random id. Digits only, because the Python and Node libraries accept nothing else. Source: §14.3. */
export function newAppId(): string {
  return String(randomInt(100_000_000, 1_000_000_000));
}

/** A random key (80 bits, public) and its secret (160 bits), both in hex. */
export function newAppKey(): AppKey {
  return { key: randomBytes(10).toString('hex'), secret: randomBytes(20).toString('hex') };
}

/** A random UUID, version 4. */
export function newInstanceId(): string {
  return randomUUID();
}

/** A random secret key of 256 bits, as 64 upper-case hex characters like the hosted service. Source: push protocol, §2.1. */
export function newSecretKey(): string {
  return randomBytes(32).toString('hex').toUpperCase();
}

/** A random P-256 key pair in URL-safe base64: the public key is a point of 65 bytes, the private key has 32 bytes. */
export function newVapidPair(): { readonly publicKey: string; readonly privateKey: string } {
  const ecdh = createECDH('prime256v1');
  const publicKey = ecdh.generateKeys('base64url');
  // The library omits leading zeros; the key must have 32 bytes.
  const privateKey = ecdh.getPrivateKey('hex').padStart(64, '0');
  return { publicKey, privateKey: Buffer.from(privateKey, 'hex').toString('base64url') };
}

/** A new instance whose settings let it reach browsers at once. */
export function newInstance(name: string, subject = VAPID_SUBJECT) {
  return {
    id: newInstanceId(),
    name,
    secretKeys: [newSecretKey()],
    settings: { web: { vapid: { ...newVapidPair(), subject } } },
  };
}

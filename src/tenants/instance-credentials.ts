import { createECDH, randomBytes, randomUUID } from 'node:crypto';

/** What push services are told where nobody has chosen better: Apple refuses a contact at localhost. Source: push protocol, §8.3.3. */
const VAPID_SUBJECT = 'mailto:push@example.com';

/** A random UUID, version 4. */
export function newInstanceId(): string {
  return randomUUID();
}

/** A random secret key of 256 bits, in the form of the hosted service: 64 upper-case hex characters. Source: push protocol, §2.1. */
export function newSecretKey(): string {
  return randomBytes(32).toString('hex').toUpperCase();
}

/** A random pair of keys of P-256, in URL-safe base64: the public one as a point of 65 bytes, the private one of 32. */
export function newVapidPair(): { readonly publicKey: string; readonly privateKey: string } {
  const ecdh = createECDH('prime256v1');
  const publicKey = ecdh.generateKeys('base64url');
  // A number that begins with zeros is written shorter, and would no longer be 32 bytes.
  const privateKey = ecdh.getPrivateKey('hex').padStart(64, '0');
  return { publicKey, privateKey: Buffer.from(privateKey, 'hex').toString('base64url') };
}

/** What a new instance is made of: with these settings, browsers can be reached at once. */
export function newInstance(name: string, subject = VAPID_SUBJECT) {
  return {
    id: newInstanceId(),
    name,
    secretKeys: [newSecretKey()],
    settings: { web: { vapid: { ...newVapidPair(), subject } } },
  };
}

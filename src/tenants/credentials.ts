import { randomBytes, randomInt } from 'node:crypto';
import type { AppKey } from '../channels/app.ts';

/** A random id of digits only: the Python and Node libraries take nothing else. Source: §14.3. */
export function newAppId(): string {
  return String(randomInt(100_000_000, 1_000_000_000));
}

/** A random pair: the key is 80 bits and public, the secret 160 bits and not. Both in hex. */
export function newAppKey(): AppKey {
  return { key: randomBytes(10).toString('hex'), secret: randomBytes(20).toString('hex') };
}

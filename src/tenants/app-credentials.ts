import { randomBytes, randomInt } from 'node:crypto';
import type { AppKey } from '../channels/app.ts';

/** A random id. Digits only, because the Python and Node libraries accept nothing else. Source: §14.3. */
export function newAppId(): string {
  return String(randomInt(100_000_000, 1_000_000_000));
}

/** A random key (80 bits, public) and its secret (160 bits), both in hex. */
export function newAppKey(): AppKey {
  return { key: randomBytes(10).toString('hex'), secret: randomBytes(20).toString('hex') };
}

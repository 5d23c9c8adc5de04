import { createHash } from 'node:crypto';

/** 128 bits: collisions cannot be found, and the store stays small. */
const BYTES = 16;

/** Hashes what identifies an app on a device in a token. Equal for two registrations of the same app. 22 characters. */
export function tokenIdentity(token: string): string {
  return createHash('sha256').update(token).digest().toString('base64url', 0, BYTES);
}

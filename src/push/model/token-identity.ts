import { createHash } from 'node:crypto';

/** 128 bits: nobody finds another token with the same ones, and a store of many devices stays small. */
const BYTES = 16;

/**
 * Makes what two registrations have in common exactly where they would reach the same app on the same device: 22
 * characters of URL-safe base64.
 */
export function tokenIdentity(token: string): string {
  return createHash('sha256').update(token).digest().toString('base64url', 0, BYTES);
}

import { whyNotStorable } from './storable-text.ts';

/** In bytes of UTF-8, not characters. Source: seed, "Limits". */
export const USER_ID_BYTES_MAX = 164;

/** `why` is a predicate, for example `is empty`. */
export type ReadUserId =
  | { readonly ok: true; readonly userId: string }
  | { readonly ok: false; readonly why: string };

/** Reads the id of a user out of untrusted input. */
export function readUserId(value: unknown): ReadUserId {
  if (typeof value !== 'string') return { ok: false, why: 'is not a string' };
  if (value === '') return { ok: false, why: 'is empty' };
  if (isTooLong(value)) {
    return { ok: false, why: `is too long: the limit is ${USER_ID_BYTES_MAX} bytes of UTF-8` };
  }
  const why = whyNotStorable(value);
  return why === undefined ? { ok: true, userId: value } : { ok: false, why };
}

function isTooLong(text: string): boolean {
  // A UTF-16 unit is one to three bytes of UTF-8, so most ids need no encoding.
  if (text.length > USER_ID_BYTES_MAX) return true;
  return text.length * 3 > USER_ID_BYTES_MAX && Buffer.byteLength(text) > USER_ID_BYTES_MAX;
}

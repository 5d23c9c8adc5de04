import { CryptoHasher, MD5 } from 'bun';

/** More secrets than this are not kept ready. */
const READY_MAX = 1000;

/** Hashers that have read their secret, by secret: a copy of one takes two thirds of the time of a new one. */
const ready = new Map<string, CryptoHasher>();

/** The lower-case hex HMAC-SHA256 of a text. Source: Channels protocol, §5.5 and §14.1. */
export function sign(secret: string, text: string): string {
  let hasher = ready.get(secret);
  if (hasher === undefined) {
    hasher = new CryptoHasher('sha256', secret);
    if (ready.size >= READY_MAX) ready.clear();
    ready.set(secret, hasher);
  }
  return hasher.copy().update(text).digest('hex');
}

/** The lower-case hex MD5 of a request's body. */
export function md5(body: Uint8Array): string {
  return MD5.hash(body, 'hex');
}

/** Compares what was sent with what was expected, in a time that says nothing of where they differ. */
export function sameSignature(expected: string, sent: string): boolean {
  if (expected.length !== sent.length) return false;
  // Not `timingSafeEqual`: the buffers that it takes cost half as much as the signature itself.
  let differences = 0;
  for (let at = 0; at < expected.length; at++) {
    differences |= expected.charCodeAt(at) ^ sent.charCodeAt(at);
  }
  return differences === 0;
}

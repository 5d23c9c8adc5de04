import { timingSafeEqual } from 'node:crypto';
import { CryptoHasher } from 'bun';

/** The lower-case hex HMAC-SHA256 of a text. Source: Channels protocol, §5.5 and §14.1. */
export function sign(secret: string, text: string): string {
  return new CryptoHasher('sha256', secret).update(text).digest('hex');
}

/** The lower-case hex MD5 of a request's body. */
export function md5(body: Uint8Array): string {
  return new CryptoHasher('md5').update(body).digest('hex');
}

/** Compares what was sent with what was expected, in a time that says nothing of where they differ. */
export function sameSignature(expected: string, sent: string): boolean {
  const a = Buffer.from(expected);
  const b = Buffer.from(sent);
  return a.length === b.length && timingSafeEqual(a, b);
}

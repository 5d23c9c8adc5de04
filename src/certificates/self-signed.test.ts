import { expect, it } from 'bun:test';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { makeSelfSigned } from './self-signed.ts';

it('a certificate is self-signed for its hosts, and valid for a year', () => {
  const nowMs = Date.UTC(2026, 10, 21, 18, 30);
  const { cert, key } = makeSelfSigned(['localhost', '127.0.0.1', 'push.example.test'], nowMs);
  const read = new X509Certificate(cert);
  expect(read.verify(read.publicKey)).toBe(true);
  expect(read.checkPrivateKey(createPrivateKey(key))).toBe(true);
  expect(read.ca).toBe(true);
  expect(read.checkHost('localhost')).toBe('localhost');
  expect(read.checkHost('push.example.test')).toBe('push.example.test');
  expect(read.checkHost('other.example.test')).toBeUndefined();
  expect(read.checkIP('127.0.0.1')).toBe('127.0.0.1');
  expect(Date.parse(read.validFrom)).toBe(nowMs - 24 * 3600_000);
  expect(Date.parse(read.validTo)).toBe(nowMs + 365 * 24 * 3600_000);
});

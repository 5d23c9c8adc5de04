import { describe, expect, it } from 'bun:test';
import { createHmac } from 'node:crypto';
import { sign } from './signature.ts';

describe('a signature', () => {
  it('is the HMAC-SHA256 of RFC 4231 (test cases 1 and 2)', () => {
    expect(sign('\x0b'.repeat(20), 'Hi There')).toBe(
      'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7',
    );
    expect(sign('Jefe', 'what do ya want for nothing?')).toBe(
      '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    );
  });

  it('is that of its secret and its text, however many were made before', () => {
    for (let number = 0; number < 1500; number++) {
      const secret = `secret ${number}`;
      for (const text of ['one', 'two', 'one']) {
        expect(sign(secret, text)).toBe(createHmac('sha256', secret).update(text).digest('hex'));
      }
    }
  });
});

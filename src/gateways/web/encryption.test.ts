import { describe, expect, it } from 'bun:test';
import { createECDH, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { newP256Pair } from '../../fake-gateways/p256.ts';
import { decryptMessage } from '../../fake-gateways/web/decryption.ts';
import { encrypt, plaintextOf, type SubscriptionKeys } from './encryption.ts';

const bytes = (text: string) => Buffer.from(text, 'base64url');

function newBrowser() {
  const browser = { pair: newP256Pair(), auth: randomBytes(16) };
  const keys: SubscriptionKeys = { p256dh: bytes(browser.pair.publicText), auth: browser.auth };
  return { browser, keys };
}

describe('a message for a browser', () => {
  it('matches the example of RFC 8291, appendix A', () => {
    const pair = createECDH('prime256v1');
    pair.setPrivateKey(bytes('yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw'));

    const message = encrypt(
      plaintextOf('When I grow up, I want to be a watermelon'),
      {
        p256dh: bytes(
          'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
        ),
        auth: bytes('BTBZMqHH6r4Tts7J_aSIgg'),
      },
      { salt: bytes('DGv6ra1nlYgDCS1FRnbzlw'), pair, publicKey: pair.getPublicKey() },
    );

    expect(message.toString('base64url')).toBe(
      'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN',
    );
  });

  it('can be decrypted by that browser only', () => {
    const { browser, keys } = newBrowser();
    const other = newBrowser().browser;
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), (text) => {
        const message = encrypt(plaintextOf(text), keys);
        expect(decryptMessage(message, browser)).toEqual({ ok: true, text });
        expect(decryptMessage(message, other).ok).toBe(false);
      }),
      { numRuns: 50 },
    );
  });

  it('is 103 bytes longer than its text, so the longest text fits', () => {
    const { keys } = newBrowser();
    expect(encrypt(plaintextOf('x'.repeat(3993)), keys)).toHaveLength(4096);
    expect(encrypt(plaintextOf(''), keys)).toHaveLength(103);
  });

  it('differs from another message with the same text', () => {
    const { keys } = newBrowser();
    const plaintext = plaintextOf('Hi!');
    const [one, other] = [encrypt(plaintext, keys), encrypt(plaintext, keys)];
    const parts = [
      [0, 16],
      [21, 86],
      [86, 102],
    ] as const;
    for (const [from, to] of parts) {
      expect(one.subarray(from, to)).not.toEqual(other.subarray(from, to));
    }
  });

  it('is refused for a key that is no point of the curve', () => {
    const { keys } = newBrowser();
    const p256dh = Buffer.concat([Uint8Array.of(4), randomBytes(64)]);
    expect(() => encrypt(plaintextOf(''), { ...keys, p256dh })).toThrow('Public key is not valid');
  });
});

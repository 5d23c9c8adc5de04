import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { anyCharacter } from '../../../testing/any-character.ts';
import { decodeBase64, encodeBase64Url } from './base64url.ts';

describe('base64', () => {
  it('is decoded in both alphabets, with and without padding', () => {
    const bytes = Buffer.from([0xfb, 0xff, 0xfe, 0x00]);
    for (const text of ['+//+AA==', '+//+AA', '-__-AA==', '-__-AA']) {
      expect(Buffer.from(decodeBase64(text) ?? [])).toEqual(bytes);
    }
    expect(encodeBase64Url(bytes)).toBe('-__-AA');
    expect(decodeBase64('')).toHaveLength(0);
  });

  it.each(['A', 'AAAAA', 'AA AA', 'AAAA\n', '=', '====', 'AA===', 'A=AA', 'AA.A', 'AAé'])(
    'is not %j',
    (text) => {
      expect(decodeBase64(text)?.length ?? 0).toBe(0);
    },
  );

  it('is decoded to what was encoded, and never throws', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(new Uint8Array(decodeBase64(encodeBase64Url(bytes)) ?? [])).toEqual(bytes);
      }),
    );
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (text) => {
        expect([undefined, Math.floor((text.replace(/=+$/, '').length * 3) / 4)]).toContain(
          decodeBase64(text)?.length,
        );
      }),
    );
  });
});

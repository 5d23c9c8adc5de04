import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { anyCharacter } from '../../../testing/any-character.ts';
import { readUserId, USER_ID_BYTES_MAX } from './user-id.ts';

describe('a user id', () => {
  it.each([
    'u',
    ' ',
    'a/b+c:ü',
    'x'.repeat(USER_ID_BYTES_MAX),
    'é'.repeat(82),
    '語'.repeat(54),
    '😀'.repeat(41),
  ])('may be %j', (userId) => {
    expect(readUserId(userId)).toEqual({ ok: true, userId });
  });

  it.each([
    ['', 'is empty'],
    ['x'.repeat(165), 'is too long: the limit is 164 bytes of UTF-8'],
    [`${'é'.repeat(82)}x`, 'is too long: the limit is 164 bytes of UTF-8'],
    ['語'.repeat(55), 'is too long: the limit is 164 bytes of UTF-8'],
    [`${'😀'.repeat(41)}x`, 'is too long: the limit is 164 bytes of UTF-8'],
    ['a\u0000b', 'has the character U+0000'],
    ['\ud83d', 'is not well-formed Unicode'],
    ['\ude00\ud83d', 'is not well-formed Unicode'],
    [7, 'is not a string'],
    [null, 'is not a string'],
    [undefined, 'is not a string'],
    [['u'], 'is not a string'],
  ])('may not be %j', (value, why) => {
    expect(readUserId(value)).toEqual({ ok: false, why });
  });

  it('is kept unchanged if it can be stored', () => {
    const texts = fc.oneof(fc.string({ unit: anyCharacter, maxLength: 180 }), fc.anything());
    fc.assert(
      fc.property(texts, (value) => {
        const read = readUserId(value);

        const right =
          typeof value === 'string' &&
          value !== '' &&
          value.isWellFormed() &&
          !value.includes('\0') &&
          new TextEncoder().encode(value).length <= 164;
        expect(read.ok).toBe(right);
        if (read.ok) expect<unknown>(read.userId).toBe(value);
      }),
    );
  });
});

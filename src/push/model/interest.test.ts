import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { anyCharacter } from '../../../testing/any-character.ts';
import { isInterest } from './interest.ts';

describe('an interest', () => {
  it.each(['a', 'Z', '0', '_-=@,.;', 'debug-hello', 'x'.repeat(164)])('may be %j', (text) => {
    expect(isInterest(text)).toBe(true);
  });

  it.each(['', 'x'.repeat(165), 'a:b', 'a b', 'a\n', '\na', 'é', '\u212a', 'a/b', 'a#', '[', '`'])(
    'may not be %j',
    (text) => {
      expect(isInterest(text)).toBe(false);
    },
  );

  it('has 1 to 164 of the characters of the specification, and nothing else', () => {
    const near = fc.oneof(
      fc.string({ unit: anyCharacter, maxLength: 200 }),
      fc.string({ unit: fc.constantFrom(...'aZ09_-=@,.;: \n'), maxLength: 6 }),
      fc.string({ unit: fc.constantFrom(...'aZ09_-=@,.;'), minLength: 160, maxLength: 168 }),
    );
    fc.assert(
      fc.property(near, (text) => {
        const allowed = [...text].every((character) => /[a-zA-Z0-9]|[-_=@,.;]/.test(character));
        expect(isInterest(text)).toBe(allowed && text.length >= 1 && text.length <= 164);
      }),
    );
  });
});

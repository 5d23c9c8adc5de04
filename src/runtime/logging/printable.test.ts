import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { anyCharacter } from '../../../testing/any-character.ts';
import { printable, printableLines } from './printable.ts';

describe('printable text', () => {
  it('escapes characters that control a terminal or the direction of text', () => {
    expect(printable('bad\u009b2J')).toBe('bad\\u009b2J');
    expect(printable('\u001b[31m\r\n\t\u0000\u007f')).toBe(
      '\\u001b[31m\\u000d\\u000a\\u0009\\u0000\\u007f',
    );
    expect(printable('a\u202eb\u2066c\u200fd\u061ce')).toBe('a\\u202eb\\u2066c\\u200fd\\u061ce');
    expect(printable('a\u2028b\u2029c')).toBe('a\\u2028b\\u2029c');
  });

  it('keeps ordinary text', () => {
    for (const text of ['plain', 'grüße 日本語 👩‍👩‍👧', '{"a":1}'])
      expect(printable(text)).toBe(text);
  });

  it('may have several lines', () => {
    expect(printableLines('a\n\tb\r\u009b')).toBe('a\n\tb\\u000d\\u009b');
  });

  it('keeps the value of JSON', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (text) => {
        expect(JSON.parse(printableLines(JSON.stringify(text)))).toBe(text);
      }),
    );
  });
});

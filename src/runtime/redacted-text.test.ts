import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { anyCharacter } from '../../testing/any-character.ts';
import { redactedText } from './redacted-text.ts';

describe('the words of a gateway', () => {
  it('are one line', () => {
    expect(redactedText('  push subscription\r\n\thas unsubscribed\u0000 or expired.\n')).toBe(
      'push subscription has unsubscribed or expired.',
    );
  });

  it('are the text of HTML', () => {
    expect(redactedText('<HTML>\n<TITLE>Unauthorized</TITLE><BODY class="a"><h1>No</h1>')).toBe(
      'Unauthorized No',
    );
  });

  it('have no tokens in them', () => {
    const token = 'dGVzdA:APA91bHqJc_-'.repeat(4);
    expect(redactedText(`not registered: ${token}, sorry`)).toBe('not registered: …, sorry');
    expect(redactedText(`https://push.example.test/wpush/v2/${token}`)).toBe(
      'https://push.example.…',
    );
  });

  it('are 200 characters at most, and none of them is half of one', () => {
    expect(redactedText('so sorry '.repeat(100))).toHaveLength(200);
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 400 }), (text) => {
        const words = redactedText(text);
        expect(words.length).toBeLessThanOrEqual(200);
        expect(words.isWellFormed()).toBe(true);
        expect(words).not.toMatch(/\p{Cc}/u);
      }),
      { numRuns: 50 },
    );
  });
});

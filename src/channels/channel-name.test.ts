import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { anyCharacter } from '../../testing/any-character.ts';
import {
  type ChannelKind,
  describeBadChannelName,
  needsAuthorisation,
  parseChannelName,
} from './channel-name.ts';

describe('a channel name', () => {
  it.each<[string, ChannelKind, boolean]>([
    ['x', 'public', false],
    ['cache-x', 'public', true],
    ['cache-', 'public', true],
    ['private-x', 'private', false],
    ['private-', 'private', false],
    ['private-cache-x', 'private', true],
    ['private-encrypted-x', 'encrypted', false],
    ['private-encrypted-cache-x', 'encrypted', true],
    ['presence-x', 'presence', false],
    ['presence-cache-x', 'presence', true],
    ['#server-to-user-x', 'server-to-user', false],
    ['#server-to-user-cache-x', 'server-to-user', false],
    ['private', 'public', false],
    ['privateer', 'public', false],
    ['presence', 'public', false],
    ['cache', 'public', false],
    ['Private-x', 'public', false],
    ['xprivate-x', 'public', false],
    ['x-cache-x', 'public', false],
    ['cache-private-x', 'public', true],
    ['private-x-cache-x', 'private', false],
    ['private-presence-x', 'private', false],
    ['presence-encrypted-x', 'presence', false],
    ['private-encrypted', 'private', false],
    ['private-cache', 'private', false],
  ])('shows its kind by its prefix: %s', (text, kind, cached) => {
    const parsed = parseChannelName(text);

    expect(parsed).toMatchObject({ ok: true, channel: { kind, cached } });
    expect<unknown>(parsed.ok && parsed.channel.text).toBe(text);
    expect(parsed.ok && needsAuthorisation(parsed.channel)).toBe(
      ['private', 'encrypted', 'presence'].includes(kind),
    );
  });

  it.each([
    ['', 'empty'],
    ['x'.repeat(201), 'too-long'],
    ['private-'.padEnd(201, 'x'), 'too-long'],
    ['#server-to-user-'.padEnd(201, 'x'), 'too-long'],
    ['#', 'bad-character'],
    ['#x', 'bad-character'],
    ['##server-to-user-x', 'bad-character'],
    ['#server-to-user-', 'bad-character'],
    ['#server-to-user-#', 'bad-character'],
    ['x\n', 'bad-character'],
    ['\nx', 'bad-character'],
    ['x\u0000', 'bad-character'],
    ['é', 'bad-character'],
    ['\u212a', 'bad-character'],
    ['\u017f', 'bad-character'],
    ['\ud800', 'bad-character'],
  ] as const)('is refused with the reason: %j', (text, why) => {
    expect(parseChannelName(text)).toEqual({ ok: false, why });
    expect(describeBadChannelName(text, why)).toStartWith('Invalid channel name');
  });

  it('has 1 to 200 of the characters that the protocol lists, and nothing else', () => {
    const near = fc.oneof(
      fc.string({ unit: anyCharacter, maxLength: 250 }),
      fc.string({ unit: fc.constantFrom(...'aZ09_-=@,.;# /\n'), maxLength: 8 }),
      fc.string({ unit: fc.constantFrom(...'aZ09_-=@,.;'), minLength: 190, maxLength: 210 }),
    );
    fc.assert(
      fc.property(fc.constantFrom('', 'private-', 'presence-cache-'), near, (prefix, rest) => {
        const text = prefix + rest;

        const parsed = parseChannelName(text);

        expect(parsed.ok).toBe(/^[-a-zA-Z0-9_=@,.;]{1,200}$/.test(text));
        if (parsed.ok) expect<string>(parsed.channel.text).toBe(text);
      }),
    );
  });
});

import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { anyCharacter } from '../../../testing/any-character.ts';
import { isRedactedUrl, redactedText, redactedUrl, redactUrls } from './redact.ts';

describe('a redacted URL', () => {
  it.each([
    ['http://user:hunter2@x.test/a?token=t0k', 'http://***@x.test/a?token=***'],
    ['https://x.test:8443/a/b?a=1&b=&c&d=x#e', 'https://x.test:8443/a/b?a=***&***&***&d=***#***'],
    ['https://only-a-user@x.test', 'https://***@x.test/'],
    ['https://:only-a-password@[::1]:1/', 'https://***@[::1]:1/'],
    ['postgres://user:p@ss@db/fanfare', 'postgres://***@db/fanfare'],
    ['http://x.test', 'http://x.test'],
    ['http://x.test/path', 'http://x.test/path'],
    ['no url: hunter2', '***'],
    ['user:hunter2@x.test', '***'],
    ['redis://user%3Ahunter2%40x.test/0', '***'],
    ['redis+cluster://user:hunter2@a:1,b:2', '***'],
    ['rediss+cluster://user:hunter2@a', 'rediss+cluster://***@a'],
    ['redis://x.test/0?password=hunter2', 'redis://x.test/0?password=***'],
    ['file:///a/b?key=hunter2', 'file:///a/b?key=***'],
    ['mailto:ops?subject=x', 'mailto:ops?subject=***'],
  ])('%s is %s', (url, shown) => {
    expect(redactedUrl(url)).toBe(shown);
  });

  it('contains no secret, and is recognised as redacted', () => {
    // A word that occurs nowhere else in a URL.
    const secret = fc.stringMatching(/^[a-z0-9]{6,20}$/).map((text) => `zq${text}qz`);
    const place = fc.constantFrom<(secret: string) => string>(
      (text) => `http://${text}@x.test/`,
      (text) => `http://u:${text}@x.test/a`,
      (text) => `http://x.test/?${text}`,
      (text) => `http://x.test/?a=b&token=${text}`,
      (text) => `http://x.test/?a=b=${text}&c`,
      (text) => `http://x.test/#${text}`,
      (text) => `http://x.test/?a=%${text}`,
      (text) => `http://x.test/?${text}==`,
    );
    fc.assert(
      fc.property(secret, place, (text, at) => {
        const shown = redactedUrl(at(text));
        expect(shown).not.toContain(text);
        expect(isRedactedUrl(shown)).toBe(true);
        expect(isRedactedUrl(at(text))).toBe(false);
        expect(redactedUrl(shown)).toBe(shown);
      }),
    );
  });

  it('accepts any text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.webUrl()), (text) => {
        expect(typeof redactedUrl(text)).toBe('string');
      }),
    );
  });
});

describe('a text with redacted URLs', () => {
  it.each([
    ['"http://u:hunter2@x.test/a" does not answer', '"http://***@x.test/a" does not answer'],
    ['not "htp://u:hun"ter2@x.test"', 'not "htp://***@x.test"'],
    ['http://u:1/hunter2@x.test is odd', 'http://***@x.test is odd'],
    ['http://u:hunter2%40x.test:1', 'http://***@x.test:1'],
    ['/tmp/postgres:/u:hunter2@h and //u:hunter2@h', '/tmp/postgres:/***@h and //***@h'],
    ['fetching "https://x.test/?token=hunter2"', 'fetching "https://x.test/?token=***"'],
    [
      'sqlite:FILE or postgres://…, ops@x.test, a/b@c',
      'sqlite:FILE or postgres://…, ops@x.test, a/b@c',
    ],
    ['see https://x.test/a, or //x.test', 'see https://x.test/a, or //x.test'],
  ])('%s is %s', (text, shown) => {
    expect(redactUrls(text)).toBe(shown);
    expect(redactUrls(shown)).toBe(shown);
  });

  it('is made in linear time', () => {
    // With a step for each pair of characters, it would not end while a test may run.
    for (const part of ['/', ':/', 'a', 'a:', '://', 'a://?']) redactUrls(part.repeat(1_000_000));
  });
});

describe('an error text of a peer', () => {
  it('becomes one line', () => {
    expect(redactedText('  push subscription\r\n\thas unsubscribed\u0000 or expired.\n')).toBe(
      'push subscription has unsubscribed or expired.',
    );
  });

  it('loses its HTML tags', () => {
    expect(redactedText('<HTML>\n<TITLE>Unauthorized</TITLE><BODY class="a"><h1>No</h1>')).toBe(
      'Unauthorized No',
    );
  });

  it.each(['<', '<a ', 'a>', '< >'])(
    'is one line of many %p, too',
    (part) => {
      expect(redactedText(part.repeat(120_000)).length).toBeLessThanOrEqual(200);
    },
    // A pattern that takes quadratic time needs ten seconds or more.
    5_000,
  );

  it('loses what may be a token', () => {
    const token = 'dGVzdA:APA91bHqJc_-'.repeat(4);
    expect(redactedText(`not registered: ${token}, sorry`)).toBe('not registered: …, sorry');
    expect(redactedText(`https://push.example.test/wpush/v2/${token}`)).toBe(
      'https://push.example.…',
    );
  });

  it('is cut at 200 characters, and never within one', () => {
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

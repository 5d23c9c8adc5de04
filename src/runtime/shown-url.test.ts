import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { isShownUrl, shownUrl } from './shown-url.ts';

describe('a URL as people may see it', () => {
  it.each([
    ['http://user:hunter2@x.test/a?token=t0k', 'http://***@x.test/a?token=***'],
    ['https://x.test:8443/a/b?a=1&b=&c&d=x#e', 'https://x.test:8443/a/b?a=***&***&***&d=***#***'],
    ['https://only-a-user@x.test', 'https://***@x.test/'],
    ['https://:only-a-password@[::1]:1/', 'https://***@[::1]:1/'],
    ['postgres://user:p@ss@db/fanfare', 'postgres://***@db/fanfare'],
    ['http://x.test', 'http://x.test'],
    ['http://x.test/path', 'http://x.test/path'],
    ['no url: hunter2', '***'],
  ])('%s is %s', (url, shown) => {
    expect(shownUrl(url)).toBe(shown);
  });

  it('holds no secret that stood in it, and is told from a whole one', () => {
    // A word that stands nowhere else in a URL.
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
        const shown = shownUrl(at(text));
        expect(shown).not.toContain(text);
        expect(isShownUrl(shown)).toBe(true);
        expect(isShownUrl(at(text))).toBe(false);
        expect(shownUrl(shown)).toBe(shown);
      }),
    );
  });

  it('never throws, whatever it is', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.webUrl()), (text) => {
        expect(typeof shownUrl(text)).toBe('string');
      }),
    );
  });
});

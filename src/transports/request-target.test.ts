import { describe, expect, it, spyOn } from 'bun:test';
import fc from 'fast-check';
import { anyCharacter } from '../../testing/any-character.ts';
import { decodeLeniently, requestTarget, withoutPrefix } from './request-target.ts';

describe('the target of a request', () => {
  it.each([
    ['http://h/a/b?c=d', '/a/b', 'c=d'],
    ['http://127.0.0.1:6001/a', '/a', ''],
    ['https://[::1]:6001/a?', '/a', ''],
    ['http://h/', '/', ''],
    ['http://h', '/', ''],
    ['http://h/a?b?c', '/a', 'b?c'],
    ['http://h/a?b#c', '/a', 'b#c'],
    ['http://h/a?u=http://x/y', '/a', 'u=http://x/y'],
    ['http://h//a', '//a', ''],
    ['/a/b?c=d', '/a/b', 'c=d'],
    ['/a?u=http://x/y', '/a', 'u=http://x/y'],
    ['', '/', ''],
    ['*', '/', ''],
  ])('in %s is %s and "%s"', (url, path, query) => {
    expect(requestTarget(url)).toEqual({ path, query });
  });

  it('is exactly what was sent, with a host in front or without', () => {
    const paths = fc.string().map((text) => `/${text.replaceAll('?', '')}`);
    fc.assert(
      fc.property(
        fc.constantFrom('', 'http://h', 'https://[::1]:1'),
        paths,
        fc.string(),
        (host, path, query) => {
          expect(requestTarget(`${host}${path}?${query}`)).toEqual({ path, query });
        },
      ),
    );
  });

  it('begins with a slash, whatever the address is', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (url) => {
        const { path, query } = requestTarget(url);
        expect(path).toStartWith('/');
        expect(path).not.toContain('?');
        expect(query).toBeString();
      }),
    );
  });
});

describe('a path prefix', () => {
  it('is removed if it is a whole path segment', () => {
    expect(withoutPrefix('/ws/apps/3', '/ws')).toBe('/apps/3');
    expect(withoutPrefix('/ws/ws/apps', '/ws')).toBe('/ws/apps');
    expect(withoutPrefix('/wsx/apps', '/ws')).toBe('/wsx/apps');
    expect(withoutPrefix('/ws', '/ws')).toBe('/ws');
    expect(withoutPrefix('/apps', '')).toBe('/apps');
  });
});

/** What decoding means, in as few words as possible; too slow for texts of strangers. */
function decodePlainly(text: string): string {
  return text.replace(/(%[0-9a-f]{2})+/gi, (run) => {
    try {
      return decodeURIComponent(run);
    } catch {
      // Bytes that are not UTF-8 stay as they were written.
      return run;
    }
  });
}

/** Bytes at all edges of UTF-8, whole characters, and what is no byte at all. */
const PIECES = [
  ...['%00', '%41', '%7f', '%7F', '%80', '%8f', '%90', '%9f', '%a0', '%A9', '%bf', '%BF'],
  ...['%c0', '%c1', '%c2', '%C3', '%df', '%e0', '%e2', '%ed', '%EF', '%f0', '%f1', '%f4', '%f5'],
  ...['%c3%a9', '%e2%82%ac', '%F0%9F%98%80', '%f4%8f%bf%bf', '%EF%BB%BF', '%ff', '%fe'],
  ...['a', '%', '%4', '%g1', '%1g', '+', 'é', '€', '😀', '\ud800', '\udc00'],
];

describe('decoding', () => {
  it('decodes each run of percent sequences that is UTF-8 as a whole, and leaves all others', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...PIECES), { maxLength: 12 }), (pieces) => {
        const text = pieces.join('');
        expect(decodeLeniently(text)).toBe(decodePlainly(text));
      }),
      { numRuns: 5_000 },
    );
    for (let code = 0; code < 0x10000; code++) {
      const text = `%${(code >> 8).toString(16)}%${(code & 0xff).toString(16).padStart(2, '0')}`;
      expect(decodeLeniently(text)).toBe(decodePlainly(text));
    }
  });

  it.each([
    ['bytes that are not UTF-8, one by one', '%ffa'],
    ['the same after characters that are', '%41a%ffa'],
    ['characters that are cut off', '%e2%82'],
    ['lone percent signs', '%'],
  ])(
    'throws no exception on the way, each of which would cost as much as reading the text: %s',
    (_, piece) => {
      const text = piece.repeat(Math.ceil(15_000 / piece.length));
      const decoded = decodePlainly(text);
      using decoding = spyOn(globalThis, 'decodeURIComponent');
      expect(decodeLeniently(text)).toBe(decoded);
      // The only function of the runtime that throws for text that is not UTF-8.
      const thrown = decoding.mock.results.filter(({ type }) => type === 'throw');
      expect(thrown.length).toBe(0);
    },
  );

  it('reverses percent-encoding', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (text) => {
        expect(decodeLeniently(encodeURIComponent(text))).toBe(text);
      }),
    );
  });

  it('never fails, and changes nothing if there is no percent sign', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('%', 'c', '3', 'a', '9', 'é', 'x') }),
        (text) => {
          expect(decodeLeniently(text)).toBeString();
          expect(decodeLeniently(text.replaceAll('%', ''))).toBe(text.replaceAll('%', ''));
        },
      ),
    );
  });
});

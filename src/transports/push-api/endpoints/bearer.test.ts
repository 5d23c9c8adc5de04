import { describe, expect, it } from 'bun:test';
import { bearerOf } from './bearer.ts';

describe('the credentials of an Authorization header', () => {
  for (const [header, credentials] of [
    ['Bearer abc', 'abc'],
    ['bearer abc', 'abc'],
    ['BEARER  a b ', 'a b'],
    ['Bearer', undefined],
    ['Bearer ', undefined],
    ['Bearer   ', undefined],
    ['Bearerabc', undefined],
    ['Basic abc', undefined],
    ['abc', undefined],
    ['', undefined],
  ] as const) {
    it(`are ${credentials} in ${JSON.stringify(header)}`, () => {
      expect(bearerOf(header)).toBe(credentials);
    });
  }
});

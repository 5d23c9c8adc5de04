import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { readRetryAfter } from './retry-after.ts';

const NOW_MS = Date.parse('2026-11-21T18:00:00.500Z');
const DAY_MS = 24 * 3_600_000;
const read = (value: string | undefined) => readRetryAfter(value, NOW_MS);

describe('Retry-After', () => {
  it('is seconds', () => {
    expect(read('0')).toBe(0);
    expect(read('120')).toBe(120_000);
    expect(read(' 7 ')).toBe(7_000);
  });

  it('is a date', () => {
    expect(read('Sat, 21 Nov 2026 18:01:00 GMT')).toBe(59_500);
  });

  it('is 0 for a date in the past', () => {
    expect(read('Sun, 06 Nov 1994 08:49:37 GMT')).toBe(0);
  });

  it('is limited to a day', () => {
    expect(read('86401')).toBe(DAY_MS);
    expect(read('9'.repeat(400))).toBe(DAY_MS);
    expect(read('Fri, 31 Dec 9999 23:59:59 GMT')).toBe(DAY_MS);
  });

  it.each([
    undefined,
    '',
    'soon',
    '-1',
    '1.5',
    '1e3',
    '0x10',
    'Xxx, 99 Xxx 2026 99:99:99 GMT',
    '2026-11-21',
  ])('is ignored if it is %p', (value) => {
    expect(read(value)).toBeUndefined();
  });

  it('is a bounded time or ignored, for any text', () => {
    fc.assert(
      fc.property(fc.string(), (value) => {
        const ms = read(value) ?? 0;
        expect(ms >= 0 && ms <= DAY_MS).toBe(true);
      }),
    );
  });
});

import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { firstHalfOf, newHalf, parseSocketId, socketIdOf } from './socket-id.ts';

describe('a new socket id', () => {
  const ids = Array.from({ length: 50_000 }, () => socketIdOf(newHalf(), newHalf()));

  it('is unique', () => {
    expect(new Set(ids).size).toBe(ids.length);
    // Nor does it share half of itself with one, as it would if it counted.
    expect(new Set(ids.flatMap((id) => id.split('.'))).size).toBe(2 * ids.length);
  });

  it('is two whole numbers below 2^53, as every library expects', () => {
    const others = ids.filter((id) => {
      const parts = id.split('.');
      const whole = parts.every(
        (part) => Number.isSafeInteger(Number(part)) && String(Number(part)) === part,
      );
      return !/^\d+\.\d+$/.test(id) || !whole;
    });

    expect(others).toEqual([]);
  });

  it('uses all the bits it may', () => {
    for (const part of [0, 1]) {
      const numbers = ids.map((id) => Number(id.split('.')[part]));
      expect(Math.max(...numbers)).toBeGreaterThan(2 ** 51);
      expect(numbers.some((number) => number % 2 === 1)).toBe(true);
      expect(numbers.some((number) => number % 2 === 0)).toBe(true);
    }
  });

  it('has the two halves that it was made from', () => {
    for (const id of ids) expect(String(firstHalfOf(id))).toBe(id.split('.')[0] ?? '');
  });

  it('is read if it is valid', () => {
    for (const id of ids.slice(0, 100)) expect(parseSocketId(id)).toBe(id);
  });
});

describe('a socket id from outside', () => {
  it.each(['1.1', '0.0', '1234.1234', '131160.155806628', '151004717.3505838415'])(
    'may be %s',
    (text) => {
      expect<string | undefined>(parseSocketId(text)).toBe(text);
    },
  );

  it.each([
    '',
    '1',
    '1.',
    '.1',
    '1.1.1',
    '1,1',
    '-1.1',
    '1.-1',
    '1e3.1',
    ' 1.1',
    '1.1 ',
    '1.1\n',
    '\n1.1',
    '١.١',
    'id:1.1',
    `1.${'1'.repeat(100)}`,
  ])('may not be %j', (text) => {
    expect(parseSocketId(text)).toBeUndefined();
  });

  it('is two numbers and a point, or nothing', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'019.-\n x') }), (text) => {
        expect(parseSocketId(text) !== undefined).toBe(/^\d+\.\d+$/.test(text));
      }),
    );
  });
});

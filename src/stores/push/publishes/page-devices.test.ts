import { expect, it } from 'bun:test';
import fc from 'fast-check';
import { readDevices, writeDevices } from './page-devices.ts';

it('reads the devices of a page that it wrote', () => {
  const numbers = fc.uniqueArray(
    fc.oneof(
      fc.integer({ min: 1, max: 5000 }),
      fc.maxSafeNat().map((number) => Math.max(1, number)),
    ),
    { maxLength: 300 },
  );
  fc.assert(
    fc.property(numbers, (some) => {
      const ordered = some.toSorted((a, b) => a - b);
      expect(readDevices(writeDevices(ordered))).toEqual(ordered);
    }),
  );
});

it('takes one character for each device of a dense audience', () => {
  const numbers = Array.from({ length: 1000 }, (_, index) => 1_000_000 + index * 10);
  expect(writeDevices(numbers).length).toBeLessThan(1010);
});

it('refuses numbers that are not ascending', () => {
  for (const numbers of [[0], [2, 1], [3, 3], [-1], [1.5]]) {
    expect(() => writeDevices(numbers)).toThrow('ascending order');
  }
});

it('refuses a text that it did not write', () => {
  expect(() => readDevices('A,B')).toThrow('cannot be decoded');
});

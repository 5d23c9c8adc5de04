import { expect, it } from 'bun:test';
import fc from 'fast-check';
import { readPlaces, writePlaces } from './page-places.ts';

it('reads the places of a page that it wrote', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(2_000)), (some) => {
      const places = new Set(some);
      expect([...readPlaces(writePlaces(places))]).toEqual(some.toSorted((a, b) => a - b));
    }),
  );
});

it('takes 200 bytes for all places of a page', () => {
  expect(writePlaces(new Set(Array(1_000).keys())).length).toBeLessThan(200);
  expect(writePlaces(new Set())).toBe('');
});

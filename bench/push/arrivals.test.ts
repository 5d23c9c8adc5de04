import { describe, expect, it } from 'bun:test';
import { bestRate } from './arrivals.ts';

const looks = (...pairs: readonly (readonly [atMs: number, count: number])[]) =>
  pairs.map(([atMs, count]) => ({ atMs, count }));

describe('the highest rate', () => {
  it('is that of the fastest interval of the given length', () => {
    const those = looks([0, 0], [1000, 10], [2000, 20], [3000, 220], [4000, 420], [5000, 430]);
    expect(bestRate(those, 2)).toBe(200);
    expect(bestRate(those, 1)).toBe(200);
    expect(bestRate(those, 5)).toBe(86);
  });

  it('is that of a longer interval if there was no sample in between', () => {
    expect(bestRate(looks([0, 0], [3000, 90]), 2)).toBe(30);
  });

  it('is 0 if everything arrived sooner', () => {
    expect(bestRate(looks([0, 0], [900, 1000]), 1)).toBe(0);
    expect(bestRate([], 1)).toBe(0);
  });
});

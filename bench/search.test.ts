import { describe, expect, it } from 'bun:test';
import { highestThatHolds } from './search.ts';

const search = { startAt: 100, growth: 2, precision: 1.04 };

describe('the search for the highest rate that holds', () => {
  it('ends just below the limit, wherever it starts', async () => {
    for (const limit of [1, 2, 3, 17, 99, 100, 101, 777, 123_456]) {
      const found = await highestThatHolds(search, async (rate) => rate <= limit);
      expect(found).toBeLessThanOrEqual(limit);
      expect(found * search.precision + 1).toBeGreaterThanOrEqual(limit);
    }
  });

  it('finds nothing where nothing holds', async () => {
    expect(await highestThatHolds(search, async () => false)).toBe(0);
  });

  it('goes on above a rate that failed by accident', async () => {
    let accidents = 1;
    const found = await highestThatHolds(search, async (rate) => {
      if (rate === 400 && accidents > 0) {
        accidents -= 1;
        return false;
      }
      return rate <= 1000;
    });
    expect(found).toBeGreaterThan(960);
  });
});

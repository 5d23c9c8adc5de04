import { describe, expect, it } from 'bun:test';
import { rateThatHolds } from './search.ts';

const search = { startAt: 100, factor: 2, factorMin: 1.05, turns: 8 };

describe('the search for the sustained rate', () => {
  it('ends within a step of the limit, wherever it starts', async () => {
    for (const limit of [1, 2, 3, 17, 99, 100, 101, 777, 123_456]) {
      const found = await rateThatHolds(search, async (rate) => rate <= limit);
      expect(found).toBeGreaterThanOrEqual(limit / search.factorMin - 1);
      expect(found).toBeLessThanOrEqual(limit * search.factorMin + 1);
    }
  });

  it('finds 0 if no rate is sustained', async () => {
    expect(await rateThatHolds(search, async () => false)).toBe(0);
  });

  it('ends where half of all steps hold', async () => {
    let state = 1;
    /** Lehmer's generator, as Park and Miller chose its figures. */
    const chance = () => {
      state = (state * 48_271) % 2_147_483_647;
      return state / 2_147_483_647;
    };
    // Nine tenths of the steps hold at 670, a tenth at 1,500.
    const holds = async (rate: number) => chance() < 1 / (1 + (rate / 1000) ** 5.4);
    const found: number[] = [];
    for (let run = 0; run < 201; run += 1) found.push(await rateThatHolds(search, holds));
    found.sort((a, b) => a - b);
    expect(found[100]).toBeWithin(950, 1050);
    expect(found[10]).toBeGreaterThan(750);
    expect(found[190]).toBeLessThan(1350);
  });

  it('is hardly changed by one accidental failure', async () => {
    let accidents = 1;
    const found = await rateThatHolds(search, async (rate) => {
      if (rate === 400 && accidents > 0) {
        accidents -= 1;
        return false;
      }
      return rate <= 1000;
    });
    expect(found).toBeGreaterThan(940);
  });

  it('fails if it finds no end', async () => {
    await expect(rateThatHolds(search, async () => true)).rejects.toThrow('no end was found');
  });
});

import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { claimFairly, claimOfBoth, oneByOne, roundRobin } from './fair-claims.ts';

describe('fair claims', () => {
  it('begin after the owner that was served last', () => {
    expect(roundRobin([3, 1, 2], 0)).toEqual([1, 2, 3]);
    expect(roundRobin([3, 1, 2], 1)).toEqual([2, 3, 1]);
    expect(roundRobin([3, 1, 2], 3)).toEqual([1, 2, 3]);
    expect(roundRobin([], 3)).toEqual([]);
  });

  it('give each owner as much as round robin does', async () => {
    const demands = fc.array(fc.nat(20), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(
        demands,
        fc.nat(60),
        fc.integer({ min: 1, max: 25 }),
        async (given, limit, limitPerOwner) => {
          const demanded = given.map((demand) => Math.min(demand, limitPerOwner));
          const wanted = demanded.map(() => 0);
          let left = Math.min(
            limit,
            demanded.reduce((sum, one) => sum + one, 0),
          );
          while (left > 0) {
            for (const [owner, demand] of demanded.entries()) {
              if (left === 0 || (wanted[owner] ?? 0) >= demand) continue;
              wanted[owner] = (wanted[owner] ?? 0) + 1;
              left -= 1;
            }
          }
          const taken = demanded.map(() => 0);
          const claim = oneByOne(async (owner, count) => {
            const more = Math.min(count, (given[owner] ?? 0) - (taken[owner] ?? 0));
            taken[owner] = (taken[owner] ?? 0) + more;
            return more;
          });
          await claimFairly({ owners: [...demanded.keys()], limit, limitPerOwner, claim });
          expect(taken).toEqual(wanted);
        },
      ),
    );
  });

  it('need few queries, however much there is', async () => {
    let asked = 0;
    const claim = async (owners: readonly number[], count: number) => {
      asked += 1;
      return new Map(owners.map((owner) => [owner, count]));
    };
    await claimFairly({ owners: [1, 2, 3], limit: 1000, claim });
    expect(asked).toBeLessThanOrEqual(2);
  });

  it('return the owner that was served last', async () => {
    const one = oneByOne(async () => 1);
    expect(await claimFairly({ owners: [4, 5, 6], limit: 2, claim: one })).toBe(5);
    expect(await claimFairly({ owners: [4, 5, 6], limit: 4, claim: one })).toBe(4);
    expect(
      await claimFairly({ owners: [4, 5], limit: 2, claim: oneByOne(async () => 0) }),
    ).toBeUndefined();
    expect(await claimFairly({ owners: [], limit: 2, claim: one })).toBeUndefined();
  });

  it('take half of each of two kinds, or more of one if the other has less', async () => {
    const take = async (count: number, ones: number, others: number) => {
      const taken = { ones: 0, others: 0 };
      const sum = await claimOfBoth(
        count,
        async (some) => {
          const more = Math.min(some, ones - taken.ones);
          taken.ones += more;
          return more;
        },
        async (some) => {
          const more = Math.min(some, others - taken.others);
          taken.others += more;
          return more;
        },
      );
      expect(sum).toBe(taken.ones + taken.others);
      return [taken.ones, taken.others];
    };
    expect(await take(5, 9, 9)).toEqual([3, 2]);
    expect(await take(1, 9, 9)).toEqual([1, 0]);
    expect(await take(6, 1, 9)).toEqual([1, 5]);
    expect(await take(6, 9, 1)).toEqual([5, 1]);
    expect(await take(6, 1, 2)).toEqual([1, 2]);
    expect(await take(6, 0, 0)).toEqual([0, 0]);
  });
});

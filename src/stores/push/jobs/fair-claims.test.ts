import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { inTurn, oneByOne, takeFairly, takeOfBoth } from './fair-claims.ts';

describe('turns', () => {
  it('begin after whoever was served last', () => {
    expect(inTurn([3, 1, 2], 0)).toEqual([1, 2, 3]);
    expect(inTurn([3, 1, 2], 1)).toEqual([2, 3, 1]);
    expect(inTurn([3, 1, 2], 3)).toEqual([1, 2, 3]);
    expect(inTurn([], 3)).toEqual([]);
  });

  it('give as much to each as if they were served one by one', async () => {
    const demands = fc.array(fc.nat(20), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(
        demands,
        fc.nat(60),
        fc.integer({ min: 1, max: 25 }),
        async (given, most, mostOfEach) => {
          const demanded = given.map((demand) => Math.min(demand, mostOfEach));
          const wanted = demanded.map(() => 0);
          let left = Math.min(
            most,
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
          const take = oneByOne(async (owner, count) => {
            const more = Math.min(count, (given[owner] ?? 0) - (taken[owner] ?? 0));
            taken[owner] = (taken[owner] ?? 0) + more;
            return more;
          });
          await takeFairly([...demanded.keys()], most, take, mostOfEach);
          expect(taken).toEqual(wanted);
        },
      ),
    );
  });

  it('ask each a few times only, however much there is', async () => {
    let asked = 0;
    const take = async (owners: readonly number[], count: number) => {
      asked += 1;
      return new Map(owners.map((owner) => [owner, count]));
    };
    await takeFairly([1, 2, 3], 1000, take);
    expect(asked).toBeLessThanOrEqual(2);
  });

  it('tell who was served last', async () => {
    const one = oneByOne(async () => 1);
    expect(await takeFairly([4, 5, 6], 2, one)).toBe(5);
    expect(await takeFairly([4, 5, 6], 4, one)).toBe(4);
    expect(
      await takeFairly(
        [4, 5],
        2,
        oneByOne(async () => 0),
      ),
    ).toBeUndefined();
    expect(await takeFairly([], 2, one)).toBeUndefined();
  });

  it('take of both kinds alike, and more of one where the other has less', async () => {
    const take = async (count: number, ones: number, others: number) => {
      const taken = { ones: 0, others: 0 };
      const sum = await takeOfBoth(
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

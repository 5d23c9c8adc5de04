/** Takes so many of something, or as many as there are, and gives how many. */
export type Take = (count: number) => Promise<number>;

/** Numbers in their order, beginning after `last`: whose turn it is where `last` was served last. */
export function inTurn(numbers: Iterable<number>, last: number): readonly number[] {
  const ordered = [...numbers].sort((a, b) => a - b);
  const next = ordered.findIndex((number) => number > last);
  return next === -1 ? ordered : [...ordered.slice(next), ...ordered.slice(0, next)];
}

/** Takes so many of each of some owners, or as many as there are, and gives how many of each. */
export type TakeOfAll = (
  owners: readonly number[],
  count: number,
) => Promise<ReadonlyMap<number, number>>;

/**
 * Takes up to `most` of several owners, as if one after the other were served with one each, again and again, but
 * with few questions; of each, no more than `mostOfEach`. Gives the owner that was served last; `undefined` where
 * there was nothing.
 */
export async function takeFairly(
  owners: readonly number[],
  most: number,
  take: TakeOfAll,
  mostOfEach = most,
): Promise<number | undefined> {
  const takenOf = new Map<number, number>();
  let left = most;
  let asking = owners;
  let last: number | undefined;
  while (left > 0 && asking.length > 0) {
    const even = Math.max(1, Math.floor(left / asking.length));
    const some = asking.slice(0, Math.floor(left / even));
    const least = Math.min(...some.map((owner) => mostOfEach - (takenOf.get(owner) ?? 0)));
    const share = Math.min(even, least);
    const taken = await take(some, share);
    const mayHaveMore: number[] = [];
    for (const owner of some) {
      const count = taken.get(owner) ?? 0;
      left -= count;
      const all = (takenOf.get(owner) ?? 0) + count;
      takenOf.set(owner, all);
      if (count > 0) last = owner;
      if (count === share && all < mostOfEach) mayHaveMore.push(owner);
    }
    asking = [...asking.slice(some.length), ...mayHaveMore];
  }
  return last;
}

/** Asks one owner after the other, where they cannot be asked together. */
export function oneByOne(take: (owner: number, count: number) => Promise<number>): TakeOfAll {
  return async (owners, count) => {
    const taken = new Map<number, number>();
    for (const owner of owners) taken.set(owner, await take(owner, count));
    return taken;
  };
}

/** Takes half of each of two kinds, or more of one where the other has less. */
export async function takeOfBoth(count: number, one: Take, other: Take): Promise<number> {
  const half = Math.ceil(count / 2);
  let taken = await one(half);
  const mayHaveMore = taken >= half;
  if (taken < count) taken += await other(count - taken);
  if (taken < count && mayHaveMore) taken += await one(count - taken);
  return taken;
}

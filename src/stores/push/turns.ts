/** Takes so many of something, or as many as there are, and gives how many. */
export type Take = (count: number) => Promise<number>;

/** Numbers in their order, beginning after `last`: whose turn it is where `last` was served last. */
export function inTurn(numbers: Iterable<number>, last: number): readonly number[] {
  const ordered = [...numbers].sort((a, b) => a - b);
  const next = ordered.findIndex((number) => number > last);
  return next === -1 ? ordered : [...ordered.slice(next), ...ordered.slice(0, next)];
}

/**
 * Takes up to `most` of several owners, as if one after the other were served with one each, again and again, but
 * with few questions. Gives the owner that was served last; `undefined` where there was nothing.
 */
export async function takeFairly(
  owners: readonly number[],
  most: number,
  take: (owner: number, count: number) => Promise<number>,
): Promise<number | undefined> {
  let left = most;
  let asking = owners;
  let last: number | undefined;
  while (left > 0 && asking.length > 0) {
    const share = Math.max(1, Math.floor(left / asking.length));
    const mayHaveMore: number[] = [];
    for (const owner of asking) {
      if (left === 0) break;
      const taken = await take(owner, share);
      left -= taken;
      if (taken > 0) last = owner;
      if (taken === share) mayHaveMore.push(owner);
    }
    asking = mayHaveMore;
  }
  return last;
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

/** Claims up to `count` of one owner, and returns how many. */
export type Claim = (count: number) => Promise<number>;

/** Sorts numbers ascending, beginning after `last` and wrapping around: round robin after `last` was served. */
export function roundRobin(numbers: Iterable<number>, last: number): readonly number[] {
  const ordered = [...numbers].sort((a, b) => a - b);
  const next = ordered.findIndex((number) => number > last);
  return next === -1 ? ordered : [...ordered.slice(next), ...ordered.slice(0, next)];
}

/** Claims up to `count` of each owner, and returns how many of each. */
export type ClaimOfEach = (
  owners: readonly number[],
  count: number,
) => Promise<ReadonlyMap<number, number>>;

export interface FairClaim {
  /** In the order of their turns. */
  readonly owners: readonly number[];
  readonly limit: number;
  readonly limitPerOwner?: number | undefined;
  readonly claim: ClaimOfEach;
}

/**
 * Claims as if each owner got one in turn, again and again, but with few queries. Returns the owner that was served
 * last; `undefined` if there was nothing.
 */
export async function claimFairly({
  owners,
  limit,
  limitPerOwner = limit,
  claim,
}: FairClaim): Promise<number | undefined> {
  const claimedOf = new Map<number, number>();
  let left = limit;
  let waiting = owners;
  let last: number | undefined;
  while (left > 0 && waiting.length > 0) {
    const even = Math.max(1, Math.floor(left / waiting.length));
    const some = waiting.slice(0, Math.floor(left / even));
    const least = Math.min(...some.map((owner) => limitPerOwner - (claimedOf.get(owner) ?? 0)));
    const share = Math.min(even, least);
    const claimed = await claim(some, share);
    const mayHaveMore: number[] = [];
    for (const owner of some) {
      const count = claimed.get(owner) ?? 0;
      left -= count;
      const total = (claimedOf.get(owner) ?? 0) + count;
      claimedOf.set(owner, total);
      if (count > 0) last = owner;
      if (count === share && total < limitPerOwner) mayHaveMore.push(owner);
    }
    waiting = [...waiting.slice(some.length), ...mayHaveMore];
  }
  return last;
}

/** Claims of one owner after the other. */
export function oneByOne(claim: (owner: number, count: number) => Promise<number>): ClaimOfEach {
  return async (owners, count) => {
    const claimed = new Map<number, number>();
    for (const owner of owners) claimed.set(owner, await claim(owner, count));
    return claimed;
  };
}

/** Claims half of each of two kinds, or more of one if the other has less. */
export async function claimOfBoth(count: number, first: Claim, second: Claim): Promise<number> {
  const half = Math.ceil(count / 2);
  let claimed = await first(half);
  const mayHaveMore = claimed >= half;
  if (claimed < count) claimed += await second(count - claimed);
  if (claimed < count && mayHaveMore) claimed += await first(count - claimed);
  return claimed;
}

/** A connection that may be closed. */
interface Idle {
  /** The address that it counts for. */
  readonly owner: string;
  readonly silentMs: number;
}

/** Returns the connections to close so that `kept` are left: the longest silent ones of the addresses with most. */
export function surplusOf<Socket extends Idle>(sockets: readonly Socket[], kept: number): Socket[] {
  const byOwner = Map.groupBy(sockets, ({ owner }) => owner);
  const allowed = allowedEach(
    [...byOwner.values()].map(({ length }) => length),
    kept,
  );
  return [...byOwner.values()].flatMap((ofOwner) =>
    ofOwner.length <= allowed
      ? []
      : ofOwner
          .toSorted((one, other) => one.silentMs - other.silentMs)
          .slice(Math.max(0, Math.floor(allowed))),
  );
}

/** The number that no address may exceed, so that all together have at most `kept`. */
function allowedEach(sizes: readonly number[], kept: number): number {
  let left = kept;
  const ascending = sizes.toSorted((one, other) => one - other);
  for (const [index, size] of ascending.entries()) {
    const share = left / (ascending.length - index);
    if (size > share) return share;
    left -= size;
  }
  return Number.POSITIVE_INFINITY;
}

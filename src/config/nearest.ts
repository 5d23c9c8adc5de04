/** With more mistakes than this, a long name is another name. */
const MISTAKES_MAX = 3;

/**
 * Finds the known name that a mistyped one most likely means, or nothing if none is close.
 * Case does not count; one mistake is allowed for every four characters begun, up to a bound.
 */
export function nearest(name: string, known: Iterable<string>): string | undefined {
  let best: string | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const candidate of known) {
    const allowed = Math.min(Math.ceil(candidate.length / 4), MISTAKES_MAX);
    if (Math.abs(candidate.length - name.length) > allowed) continue;
    const mistakes = distance(name.toLowerCase(), candidate.toLowerCase());
    if (mistakes <= allowed && mistakes < least) [best, least] = [candidate, mistakes];
  }
  return best;
}

/** Writes the end of a message about an unknown name: which one was probably meant, if any. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const meant = nearest(name, known);
  return meant === undefined ? '' : `, did you mean "${meant}"?`;
}

/** Counts the letters to insert, drop, replace or swap with their neighbour. */
function distance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const replaced = from[row - 1] === to[column - 1] ? 0 : 1;
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      current.push(
        Math.min(
          at(last, column) + 1,
          at(current, column - 1) + 1,
          at(last, column - 1) + replaced,
          swapped ? at(beforeLast, column - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
    [beforeLast, last] = [last, current];
  }
  return at(last, to.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}

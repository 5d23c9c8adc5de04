/** With more mistakes, a name is considered another name. */
const MISTAKES_MAX = 3;

/**
 * Finds the known name that a mistyped name most likely means, if one is close. Ignores case. Allows one mistake per
 * four characters, rounded up, at most three.
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

/** The end of a message about an unknown name: a suggestion, or nothing. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const meant = nearest(name, known);
  return meant === undefined ? '' : `, did you mean "${meant}"?`;
}

/** The number of characters to insert, delete, replace or swap with a neighbour. */
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

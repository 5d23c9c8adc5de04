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
    const mistakes = distance(name.toLowerCase(), candidate.toLowerCase(), allowed);
    if (mistakes <= allowed && mistakes < least) [best, least] = [candidate, mistakes];
  }
  return best;
}

/** More names than these are no suggestion. */
const SUGGESTIONS_MAX = 3;

/** Finds names by some of their words. */
export type FindByWords = (name: string) => readonly string[];

/**
 * Makes the function that finds the known names that a name without some of its words most likely means: `CHANNELS_PORT`
 * for `PORT`. The words that are there have the same order, and the last one is the same. Only those that lack the fewest
 * words; none if these are more than three. A lookup takes constant time for most names, because there may be thousands.
 */
export function byWords(known: readonly string[], separator: string): FindByWords {
  const wordsOf = (text: string) => text.toLowerCase().split(separator);
  const candidates = Map.groupBy(
    known.map((name) => ({ name, words: wordsOf(name) })),
    ({ words }) => words.at(-1),
  );
  return (name) => {
    const words = wordsOf(name);
    const longer = (candidates.get(words.at(-1)) ?? []).filter(
      (candidate) => candidate.words.length > words.length && isInOrder(words, candidate.words),
    );
    const least = Math.min(...longer.map((candidate) => candidate.words.length));
    const likely = longer.filter((candidate) => candidate.words.length === least);
    return likely.length > SUGGESTIONS_MAX ? [] : likely.map((candidate) => candidate.name);
  };
}

function isInOrder(words: readonly string[], all: readonly string[]): boolean {
  let from = 0;
  return words.every((word) => {
    from = all.indexOf(word, from) + 1;
    return from > 0;
  });
}

/**
 * The end of a message about an unknown name: suggestions, or nothing. `otherwise` finds names if none of the known ones is
 * close.
 */
export function didYouMean(
  name: string,
  known: Iterable<string>,
  otherwise: FindByWords = () => [],
): string {
  const close = nearest(name, known);
  const meant = (close === undefined ? otherwise(name) : [close]).map((one) => `"${one}"`);
  const last = meant.pop();
  if (last === undefined) return '';
  return `, did you mean ${meant.length === 0 ? '' : `${meant.join(', ')} or `}${last}?`;
}

/**
 * The edit distance: how many characters to insert, delete, replace or swap with a neighbour; infinity if it exceeds
 * `most`. Takes linear time, because only cells near the diagonal can have so small a distance.
 */
function distance(from: string, to: string, most: number): number {
  const rows = Array.from({ length: 3 }, () => new Uint8Array(to.length + 1).fill(most + 1));
  let [beforeLast, last, current] = rows as [Uint8Array, Uint8Array, Uint8Array];
  for (let column = 0; column <= Math.min(to.length, most); column++) last[column] = column;
  for (let row = 1; row <= from.length; row++) {
    const first = Math.max(1, row - most);
    current[first - 1] = first === 1 ? Math.min(row, most + 1) : most + 1;
    let least = current[first - 1] ?? 0;
    for (let column = first; column <= Math.min(to.length, row + most); column++) {
      const replaced = from[row - 1] === to[column - 1] ? 0 : 1;
      const swapped =
        column > 1 &&
        row > 1 &&
        from[row - 1] === to[column - 2] &&
        from[row - 2] === to[column - 1];
      const mistakes = Math.min(
        most + 1,
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + replaced,
        swapped ? at(beforeLast, column - 2) + 1 : most + 1,
      );
      current[column] = mistakes;
      if (mistakes < least) least = mistakes;
    }
    if (least > most) return Number.POSITIVE_INFINITY;
    [beforeLast, last, current] = [last, current, beforeLast];
    // What this row leaves out must not be that of three rows before.
    current.fill(most + 1);
  }
  return at(last, to.length);
}

function at(row: Uint8Array, column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}

import { nearest } from '../../config/nearest.ts';

/** What tells kinds of channels apart, and is forgotten most often. */
const PREFIXES = /^(private-encrypted-|private-|presence-)?(cache-)?/;

/**
 * Finds the occupied channel that the name of an empty one most likely means: the same name with another prefix, other
 * separators or in another case, else one with few mistakes.
 */
export function nearChannel(name: string, occupied: readonly string[]): string | undefined {
  const bare = bareName(name);
  const candidates = occupied.filter((one) => one !== name && one[0] !== '#');
  return candidates.find((one) => bareName(one) === bare) ?? nearest(name, candidates);
}

function bareName(name: string): string {
  return name
    .replace(PREFIXES, '')
    .replace(/[-_.;,=@]/g, '')
    .toLowerCase();
}

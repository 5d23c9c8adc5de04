import { nearest } from '../../config/file/nearest.ts';

/** The prefixes of channel names, which are the most common mistakes. */
const PREFIXES = /^(private-encrypted-|private-|presence-)?(cache-)?/;

/**
 * Finds the occupied channel that the name of an empty one most likely means: the same name with another prefix, with
 * other separators or in another case, or else one with few differences.
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

import { Recent } from '../../runtime/recent.ts';
import { needsAuthorisation, parseChannelName } from '../channel-name.ts';
import type { GrantPattern, Right } from './grant.ts';
import { RIGHTS } from './grant.ts';

/** The limit of patterns in one grant. */
const PATTERNS_MAX = 100;

/** Stands for the id of the user, at the end of a pattern of the setting. */
const USER = '{user}';

export type ReadPatterns =
  | { readonly ok: true; readonly patterns: readonly GrantPattern[] }
  /** Completes the sentence "channels …". Quotes nothing. */
  | { readonly ok: false; readonly why: string };

/** Completes the sentence "must …". */
const PATTERN_RULE =
  'be the name of a private, encrypted or presence channel, or the beginning of such names and *, in at most 200 characters';

/** Reads the channels of a grant, which strangers may have made: an object of patterns and rights. Source: §3.1. */
export function readPatterns(channels: unknown): ReadPatterns {
  // PHP writes an empty array for an empty object.
  if (Array.isArray(channels) && channels.length === 0) return { ok: true, patterns: [] };
  if (typeof channels !== 'object' || channels === null || Array.isArray(channels)) {
    return { ok: false, why: 'must be an object of patterns and their rights' };
  }
  const entries: readonly (readonly [string, unknown])[] = Object.entries(channels);
  if (entries.length > PATTERNS_MAX) {
    return { ok: false, why: `must have at most ${PATTERNS_MAX} patterns` };
  }
  const patterns: GrantPattern[] = [];
  for (const [text, rights] of entries) {
    const pattern = readPattern(text);
    if (pattern === undefined) {
      return { ok: false, why: `has a wrong pattern: each must ${PATTERN_RULE}` };
    }
    if (!isRights(rights)) {
      return { ok: false, why: 'must give each pattern a list of subscribe and client-events' };
    }
    patterns.push(shared(pattern, rights));
  }
  return { ok: true, patterns };
}

/** The patterns of the setting, for one user. Those that the user's id makes too long are left out. */
export function patternsFor(
  channels: Readonly<Record<string, readonly Right[]>>,
  userId: string,
): readonly GrantPattern[] {
  return Object.entries(channels).flatMap(([text, rights]) => {
    const pattern = text.endsWith(USER)
      ? readName(text.slice(0, -USER.length) + userId)
      : readPattern(text);
    return pattern === undefined ? [] : [shared(pattern, rights)];
  });
}

/** How many patterns are looked for when another grant is read. */
const SHARED_MAX = 4_096;

/** By their names and rights. Each connection keeps patterns, and many have the same. */
const known = new Recent<string, GrantPattern>(SHARED_MAX);

function shared(channels: Channels, given: readonly Right[]): GrantPattern {
  const rights = RIGHTS.filter((right) => given.includes(right));
  const key = `${rights} ${channels.isBeginning} ${channels.text}`;
  const same = known.get(key);
  if (same !== undefined) return same;
  const { kind, text, isBeginning } = channels;
  const pattern = { kind, text, isBeginning, rights: rightsOf(rights) };
  known.set(key, pattern);
  return pattern;
}

/** One set for all patterns with the same rights. */
const sets = new Map<string, ReadonlySet<Right>>();

function rightsOf(rights: readonly Right[]): ReadonlySet<Right> {
  return sets.getOrInsertComputed(rights.join(), () => new Set(rights));
}

type Channels = Omit<GrantPattern, 'rights'>;

function readPattern(text: string): Channels | undefined {
  if (!text.endsWith('*')) return readName(text);
  const beginning = readName(text.slice(0, -1));
  return beginning && { ...beginning, isBeginning: true };
}

function readName(text: string): Channels | undefined {
  const parsed = parseChannelName(text);
  if (!parsed.ok || !needsAuthorisation(parsed.channel)) return undefined;
  return { kind: parsed.channel.kind, text, isBeginning: false };
}

function isRights(value: unknown): value is readonly Right[] {
  return Array.isArray(value) && value.every((one) => (RIGHTS as readonly unknown[]).includes(one));
}

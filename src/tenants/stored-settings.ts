import type { z } from 'zod';
import { formatProblem, pathText, problemsOf, wording } from '../config/file/problems.ts';
import { isObject } from '../config/settings/plain-json.ts';

type Path = readonly PropertyKey[];

/** How often something unknown is left out. Each time can show more of it, and three times are enough for any settings. */
const ROUNDS_MAX = 10;

/** Stored settings that can be used, and those that cannot, with the reason. */
export type ReadSettings<Settings> =
  | {
      readonly settings: Settings;
      /** What a later version has stored and this one does not know, for example `limits.rooms`. Not applied. */
      readonly unknown: readonly string[];
    }
  | { readonly why: string };

/**
 * Reads stored settings. Settings and list entries that this version does not know are left out: a later version may
 * have stored them. What it knows must be valid.
 */
export function readStored<Settings>(
  schema: z.ZodType<Settings>,
  stored: object,
): ReadSettings<Settings> {
  const unknown: string[] = [];
  const shortened = new Set<string>();
  let known: unknown = stored;
  for (let round = 1; ; round++) {
    const read = schema.safeParse(known, { error: wording });
    if (read.success) return { settings: read.data, unknown };
    const places = read.error.issues.flatMap((issue) => placesOf(issue, shortened));
    if (places.length === 0 || round > ROUNDS_MAX) {
      return { why: Array.from(problemsOf(schema, read.error), formatProblem).join('; ') };
    }
    for (const place of places) {
      unknown.push(pathText(place));
      if (typeof place.at(-1) === 'number') shortened.add(pathText(place.slice(0, -1)));
    }
    known = without(known, places);
  }
}

/** What an issue of the schema says that this version does not know. */
function placesOf(issue: z.core.$ZodIssue, shortened: ReadonlySet<string>): readonly Path[] {
  const { path, code } = issue;
  if (code === 'unrecognized_keys') return issue.keys.map((key) => [...path, key]);
  // A choice in a list, such as a type of events.
  if (code === 'invalid_value' && typeof path.at(-1) === 'number') return [path];
  // Nothing is left of a list in an entry of another list, such as the events of a webhook.
  const isEmptied = code === 'too_small' && shortened.has(pathText(path));
  return isEmptied && typeof path.at(-2) === 'number' ? [path.slice(0, -1)] : [];
}

function without(value: unknown, places: readonly Path[]): unknown {
  const below = Map.groupBy(places, ([step]) => String(step));
  const keep = ([name, member]: readonly [PropertyKey, unknown]) => {
    const paths = below.get(String(name));
    if (paths === undefined) return [[name, member] as const];
    if (paths.some(({ length }) => length === 1)) return [];
    const inside = paths.map((path) => path.slice(1));
    return [[name, without(member, inside)] as const];
  };
  if (Array.isArray(value)) return [...value.entries()].flatMap(keep).map(([, member]) => member);
  if (isObject(value)) return Object.fromEntries(Object.entries(value).flatMap(keep));
  return value;
}

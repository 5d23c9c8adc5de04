/** How deep a free-form object in the configuration may be nested. */
const LEVELS_MAX = 32;

/** How many values a free-form object in the configuration may hold. */
const VALUES_MAX = 10_000;

/** What a free-form object must be, as the end of the sentence "must be …". */
export const PLAIN_JSON = `plain JSON of at most ${LEVELS_MAX} levels and ${VALUES_MAX} values`;

/**
 * Tells whether a value is JSON of a modest size, so that it can be written out later without surprises.
 * A YAML alias can make a value that contains itself or doubles at every level.
 */
export function isPlainJson(value: unknown): boolean {
  let level: unknown[] = [value];
  let seen = 0;
  for (let depth = 0; depth <= LEVELS_MAX && level.length > 0; depth++) {
    seen += level.length;
    if (seen > VALUES_MAX || !level.every(isPlain)) return false;
    level = level.flatMap((item) =>
      typeof item === 'object' && item !== null ? Object.values(item) : [],
    );
  }
  return level.length === 0;
}

function isPlain(value: unknown): boolean {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true;
  if (typeof value === 'number') return Number.isFinite(value);
  return typeof value === 'object';
}

/** Tells whether a value is an object with names, neither a list nor `null`. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

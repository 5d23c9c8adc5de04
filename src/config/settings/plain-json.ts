/** Nesting of a free-form object in the configuration. */
const LEVELS_MAX = 32;

/** Values in a free-form object in the configuration. */
const VALUES_MAX = 10_000;

/** Completes the sentence "must be …" about a free-form object. */
export const PLAIN_JSON = `plain JSON of at most ${LEVELS_MAX} levels and ${VALUES_MAX} values`;

/**
 * Whether a value is JSON of a modest size that can safely be serialised. With aliases, YAML can produce a value that
 * contains itself or doubles at every level.
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

/** Whether a value is an object, neither a list nor `null`. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

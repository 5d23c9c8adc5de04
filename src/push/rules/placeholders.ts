import { isJsonObject, type JsonObject } from '../../runtime/json-object.ts';

/** White space around the path is part of the match: a pattern that left it out would need cubic time for blanks. */
const PLACEHOLDER = /\{\{([^{}]+)\}\}/g;

/** Replaces the placeholders in the texts of an object, however deep. `take` returns what stands for a path. */
export function fillObject(object: JsonObject, take: (path: string) => string): JsonObject {
  return Object.fromEntries(
    Object.entries(object).map(([name, value]) => [name, fill(value, take)]),
  );
}

function fill(value: unknown, take: (path: string) => string): unknown {
  if (typeof value === 'string') {
    return value.replace(PLACEHOLDER, (_, path: string) => take(path.trim()));
  }
  if (Array.isArray(value)) return value.map((one) => fill(one, take));
  return isJsonObject(value) ? fillObject(value, take) : value;
}

/** Whether a value has a placeholder in any of its texts. */
export function hasPlaceholder(value: unknown): boolean {
  if (typeof value === 'string') return value.search(PLACEHOLDER) !== -1;
  if (Array.isArray(value)) return value.some(hasPlaceholder);
  return isJsonObject(value) && Object.values(value).some(hasPlaceholder);
}

import { isObject } from './plain-json.ts';

/** A value of an unchecked configuration, and its path. */
export interface FoundSetting {
  readonly value: unknown;
  readonly path: readonly PropertyKey[];
}

/** The entries of a list, each with its whole path. Empty if the value is not a list. */
export function entries(
  content: unknown,
  path: readonly string[],
  base: readonly PropertyKey[] = [],
): readonly FoundSetting[] {
  const list = valueAt(content, path);
  if (!Array.isArray(list)) return [];
  return list.map((value: unknown, index) => ({ value, path: [...base, ...path, index] }));
}

export function valueAt(content: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, name) => (isObject(value) ? value[name] : undefined),
    content,
  );
}

/** Settings that a version knows, and the paths of those that were left out. */
export interface KnownSettings {
  readonly settings: unknown;
  readonly leftOut: readonly string[];
}

/** Leaves out of a configuration what a version does not know. `page` is its page `settings.md`, which lists every setting. */
export function knownSettings(config: object, page: string): KnownSettings {
  const paths = [...page.matchAll(/^\| `([^`]+)` \|/gm)].map(([, path = '']) => path);
  const leftOut: string[] = [];
  const isKnown = (path: string) =>
    paths.some((known) => known === path || /^(?:\.|\[\])/.test(afterStart(known, path)));

  const read = (value: unknown, path: string): unknown => {
    if (Array.isArray(value)) return value.map((entry) => read(entry, `${path}[]`));
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value).flatMap(([name, inner]) => {
      const innerPath = path === '' ? name : `${path}.${name}`;
      if (isKnown(innerPath)) return [[name, read(inner, innerPath)]];
      leftOut.push(innerPath);
      return [];
    });
    return Object.fromEntries(entries);
  };
  const settings = read(config, '');
  return { settings, leftOut };
}

/** What follows a start; empty if the text begins with something else. */
function afterStart(text: string, start: string): string {
  return text.startsWith(start) ? text.slice(start.length) : '';
}

import type { LineCounter, Scalar, YAMLMap } from 'yaml';

/** The content of a text, or where and why it cannot be read. */
export type ReadText =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly why: string };

/** More steps from a document to a value than any setting needs. */
const DEPTH_MAX = 200;

/** How often aliases may be resolved, by the library's count. It bounds what they multiply the size of a text by. */
const ALIASES_MAX = 1000;

/**
 * Reads YAML 1.2 with merge keys. A name that stands twice in a mapping is refused: one of the two would be lost without a
 * word. An `id` that YAML would rewrite as a number, such as 007 or 7e3, stays as it is written. Several documents become a
 * list, and an empty one an empty object. Throws a `RangeError` for a text that is nested too deeply.
 */
export function readYaml(text: string): ReadText {
  // Loading the library takes longer than most commands, and most configurations are in another format.
  const { isScalar, LineCounter, parseAllDocuments, visit } =
    require('yaml') as typeof import('yaml');
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, {
    merge: true,
    // The library compares each name with all before it.
    uniqueKeys: false,
    prettyErrors: false,
    lineCounter: lines,
    logLevel: 'error',
  });
  const values: unknown[] = [];
  for (const document of documents) {
    const [error] = document.errors;
    // The library reports that it ran out of stack as a fault of the text.
    if (error?.message.startsWith('Maximum call stack')) throw new RangeError(error.message);
    if (error !== undefined) return fault(lines, error.pos[0], withoutQuotes(error.message));
    let again: Scalar | undefined;
    visit(document, {
      Collection(_, __, path) {
        if (path.length > DEPTH_MAX) throw new RangeError('nested too deeply');
      },
      Map(_, map, path) {
        if (path.length > DEPTH_MAX) throw new RangeError('nested too deeply');
        again ??= nameSetAgain(map, isScalar);
      },
      Pair(_, { key, value }) {
        if (isScalar(key) && key.value === 'id' && isScalar(value)) keepAsWritten(value);
      },
    });
    if (again !== undefined) {
      return fault(lines, again.range?.[0] ?? 0, `${nameOf(again)} is set for the second time`);
    }
    try {
      values.push(document.toJS({ maxAliasCount: ALIASES_MAX }) ?? {});
    } catch (error) {
      if (!(error instanceof ReferenceError)) throw error;
      const why = 'an alias (*) names no anchor (&) before it, or there are too many aliases';
      return { ok: false, why };
    }
  }
  return { ok: true, value: values.length > 1 ? values : (values[0] ?? {}) };
}

function nameSetAgain(
  map: YAMLMap,
  isScalar: (node: unknown) => node is Scalar,
): Scalar | undefined {
  const names = new Set<string>();
  for (const { key } of map.items) {
    if (!isScalar(key) || key.value === '<<') continue;
    const name = String(key.value);
    if (names.has(name)) return key;
    names.add(name);
  }
  return undefined;
}

function nameOf({ value }: Scalar): string {
  const name = String(value);
  return /^[\w.-]{1,60}$/.test(name) ? name : 'this name';
}

function keepAsWritten(scalar: Scalar): void {
  const { value, source } = scalar;
  if (typeof value !== 'number' || source === undefined) return;
  if (String(value) !== source) scalar.value = source;
}

function fault(lines: LineCounter, offset: number, what: string): ReadText {
  const { line, col } = lines.linePos(offset);
  return { ok: false, why: `line ${line}, column ${col}: ${what}` };
}

/** Texts of the library may quote the file, which may hold secrets. */
function withoutQuotes(message: string): string {
  return message.replace(/:? *(["'`]).*\1/s, '');
}

import { readFileSync, statSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import { fileFault } from '../../runtime/error-code.ts';
import { isObject } from '../settings/plain-json.ts';
import { findJsonFault } from './json-position.ts';
import { type ReadText, readYaml } from './yaml.ts';

/** The content of a file, or why it cannot be read. */
export type FileContent =
  | {
      readonly ok: true;
      readonly value: unknown;
      /** Whether the file sets nothing. */
      readonly isEmpty: boolean;
    }
  | { readonly ok: false; readonly message: string };

/** Thousands of apps need less. A larger file is a mistake. */
const FILE_BYTES_MAX = 16 * 1024 * 1024;

type Format = 'JSON' | 'YAML' | 'TOML';

const formats: ReadonlyMap<string, Format> = new Map([
  ['.json', 'JSON'],
  ['.yaml', 'YAML'],
  ['.yml', 'YAML'],
  ['.toml', 'TOML'],
]);

/** Reads a configuration file. The content is unchecked: any value of its format. */
export function readConfigFile(path: string): FileContent {
  const format = formats.get(extname(path).toLowerCase());
  if (format === undefined) return fault('must end in .json, .yaml, .yml or .toml');

  let text: string;
  try {
    const file = statSync(path);
    if (file.isDirectory()) return fault('is a directory, not a file');
    if (file.size > FILE_BYTES_MAX) return fault('is larger than 16 MiB');
    // Decoding also removes a byte order mark, which the parsers refuse.
    text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path));
  } catch (error) {
    return fault(fileFault(error));
  }

  try {
    const read = readers[format](text, path);
    if (!read.ok) return fault(`is not valid ${format}: ${read.why}`);
    const { value } = read;
    return { ok: true, value, isEmpty: isObject(value) && Object.keys(value).length === 0 };
  } catch (error) {
    // A parser that runs out of stack throws a RangeError with a useless message.
    if (error instanceof RangeError) return fault(`is not valid ${format}: nested too deeply`);
    throw error;
  }
}

const readers: Readonly<Record<Format, (text: string, path: string) => ReadText>> = {
  JSON: readJson,
  YAML: readYaml,
  TOML: readToml,
};

function readJson(text: string): ReadText {
  const found = findJsonFault(text);
  if (found === undefined) return { ok: true, value: JSON.parse(text) };
  const before = text.slice(0, found.offset).split('\n');
  const column = (before.at(-1)?.length ?? 0) + 1;
  return { ok: false, why: `line ${before.length}, column ${column}: ${found.why}` };
}

function readToml(text: string, path: string): ReadText {
  try {
    // Turns dates into text: no setting is a date, and a date object would look like an empty group.
    return { ok: true, value: JSON.parse(JSON.stringify(Bun.TOML.parse(text))) };
  } catch (error) {
    if (error instanceof RangeError) throw error;
    const why = error instanceof Error ? error.message.replace(/^\w+ Parse error: /, '') : '';
    // The parser quotes text of the file, which may be a secret.
    return { ok: false, why: `${positionOf(path)}${why.replace(/:? *".*"/s, '')}` };
  }
}

function fault(message: string): FileContent {
  return { ok: false, message };
}

/**
 * Where Bun's parser failed. Errors of `Bun.TOML` have no position. Those of the module loader, which uses the same
 * parser, do. Loading data executes nothing.
 */
function positionOf(path: string): string {
  try {
    import.meta.require(resolve(path));
  } catch (error) {
    const position = error instanceof BuildMessage ? error.position : null;
    if (position) return `line ${position.line}, column ${position.column}: `;
  }
  return '';
}

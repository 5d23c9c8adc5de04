import { parseArgs } from 'node:util';
import { UsageError } from './output.ts';

/** One option of a command, as it is read and as `--help` shows it. */
export interface Option {
  readonly name: string;
  /** What stands for its value in the help; a switch has none. */
  readonly value?: string;
  readonly help: string;
}

export interface Arguments {
  readonly words: readonly string[];
  /** The value of an option that was given. */
  value(name: string): string | undefined;
  /** Whether a switch was given. */
  has(name: string): boolean;
}

/** Reads a command's arguments. Throws `UsageError`. */
export function readArguments(argv: readonly string[], options: readonly Option[]): Arguments {
  try {
    const { values, positionals } = parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: Object.fromEntries(
        options.map(({ name, value }) => [
          name,
          { type: value === undefined ? ('boolean' as const) : ('string' as const) },
        ]),
      ),
    });
    return {
      words: positionals,
      value: (name) => {
        const value = values[name];
        return typeof value === 'string' ? value : undefined;
      },
      has: (name) => values[name] === true,
    };
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

/** The server at `--url`, without slashes at its end. Throws `UsageError`. */
export function serverUrl(given: Arguments, example: string): string | undefined {
  const url = given.value('url');
  if (url === undefined) return undefined;
  // Not repeated: it may hold a password in any place.
  if (!/^https?:\/\/[^/]/.test(url) || !URL.canParse(url)) {
    throw new UsageError(`--url must be like ${example}`);
  }
  return url.replace(/\/+$/, '');
}

export const CONFIG_OPTION: Option = {
  name: 'config',
  value: 'FILE',
  help: 'The configuration; otherwise fanfare.json, .yaml or .toml in this directory, if there is one.',
};

export const JSON_OPTION: Option = { name: 'json', help: 'Print JSON, for programs.' };

/** Lists options for `--help`. */
export function describeOptions(options: readonly Option[]): string {
  const rows = options.map(({ name, value, help }) => [
    `  --${name}${value === undefined ? '' : ` ${value}`}`,
    help,
  ]);
  const width = Math.max(...rows.map(([left]) => left?.length ?? 0));
  return rows.map(([left = '', right]) => `${left.padEnd(width)}  ${right}`).join('\n');
}

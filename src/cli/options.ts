import { parseArgs } from 'node:util';
import { messageOf } from '../runtime/error-code.ts';
import { UsageError } from './output.ts';

/** One option of a command. */
export interface Option {
  readonly name: string;
  /** The placeholder of its value in the help. A switch has none. */
  readonly value?: string;
  /** Whether it may be given several times. */
  readonly several?: true;
  readonly help: string;
}

/** The arguments of one command line. */
export interface Arguments {
  readonly operands: readonly string[];
  /** The value of an option, if it was given. */
  value(name: string): string | undefined;
  /** The values of an option that may be given several times. */
  values(name: string): readonly string[];
  /** Whether a switch was given. */
  has(name: string): boolean;
}

export const CONFIG_OPTION: Option = {
  name: 'config',
  value: 'FILE',
  help: 'The configuration file. Default: fanfare.json, .yaml or .toml in this directory, else in /etc/fanfare, if nobody but root and you may write there.',
};

export const HELP_OPTION: Option = { name: 'help', help: 'Show this help.' };

export const JSON_OPTION: Option = { name: 'json', help: 'Print JSON, for programs.' };

const LIMIT_DEFAULT = 50;
/** The admin API lists no more at a time. */
const LIMIT_MAX = 1000;

export const LIMIT_OPTION: Option = {
  name: 'limit',
  value: 'N',
  help: `How many to list at most, up to ${LIMIT_MAX}. Default: ${LIMIT_DEFAULT}.`,
};

/** Parses the arguments of a command. Throws `UsageError`. */
export function readArguments(argv: readonly string[], options: readonly Option[]): Arguments {
  try {
    const { values, positionals } = parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: Object.fromEntries(
        options.map(({ name, value, several = false }) => [
          name,
          {
            type: value === undefined ? ('boolean' as const) : ('string' as const),
            multiple: several,
          },
        ]),
      ),
    });
    return {
      operands: positionals,
      value: (name) => {
        const value = values[name];
        return typeof value === 'string' ? value : undefined;
      },
      values: (name) => {
        const given = values[name];
        return Array.isArray(given) ? given.filter((value) => typeof value === 'string') : [];
      },
      has: (name) => values[name] === true,
    };
  } catch (error) {
    throw new UsageError(messageOf(error));
  }
}

/** Throws `UsageError` if there is an operand. `hint` is what to do instead. */
export function noOperand({ operands: [first] }: Arguments, hint = ''): void {
  if (first !== undefined) throw new UsageError(`unexpected "${first}"${hint}`);
}

/** The only operand. Throws `UsageError` with the message `missing` if there is none, or if there are more. */
export function onlyOperand({ operands: [first, second] }: Arguments, missing: string): string {
  if (first === undefined) throw new UsageError(missing);
  if (second !== undefined) throw new UsageError(`unexpected "${second}"`);
  return first;
}

/** The operands, one for each of these names. Throws `UsageError`. `hint` is what to do with more. */
export function operandsOf<const Names extends readonly string[]>(
  { operands }: Arguments,
  names: Names,
  hint = '',
): { readonly [Place in keyof Names]: string } {
  const missing = names[operands.length];
  if (missing !== undefined) throw new UsageError(`${missing} is missing`);
  const [unexpected] = operands.slice(names.length);
  if (unexpected !== undefined) throw new UsageError(`unexpected "${unexpected}"${hint}`);
  return operands as { readonly [Place in keyof Names]: string };
}

/** The value of `--limit`. Throws `UsageError`. */
export function limitOf(given: Arguments): number {
  const text = given.value('limit');
  if (text === undefined) return LIMIT_DEFAULT;
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > LIMIT_MAX) {
    throw new UsageError(`--limit must be a whole number from 1 to ${LIMIT_MAX}, not "${text}"`);
  }
  return limit;
}

interface Choice<Value extends string> {
  readonly option: string;
  readonly values: readonly Value[];
}

/** The value of an option with a fixed set of values. Throws `UsageError`. */
export function choiceOf<Value extends string>(
  given: Arguments,
  { option, values }: Choice<Value>,
): Value | undefined {
  const text = given.value(option);
  if (text === undefined) return undefined;
  const value = values.find((one) => one === text);
  if (value === undefined) {
    throw new UsageError(`--${option} must be one of ${values.join(', ')}, not "${text}"`);
  }
  return value;
}

/** The server at `--url`, without trailing slashes. Throws `UsageError`. */
export function serverUrl(given: Arguments, example: string): string | undefined {
  const url = given.value('url');
  if (url === undefined) return undefined;
  // The message does not repeat the URL, which may hold a password anywhere.
  if (!/^https?:\/\/[^/]/.test(url) || !URL.canParse(url)) {
    throw new UsageError(`--url must be like ${example}`);
  }
  return url.replace(/\/+$/, '');
}

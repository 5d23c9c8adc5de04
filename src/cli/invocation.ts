import type { Arguments } from './options.ts';
import type { ExitCode, Output } from './output.ts';

/** What a command gets: its arguments, and where to write. */
export interface Invocation {
  readonly given: Arguments;
  readonly output: Output;
}

/** Prints a result: `json` for programs if `--json` is given, else `text` for people. */
export function printResult(
  { given, output }: Invocation,
  { json, text }: { readonly json: unknown; readonly text: string },
): ExitCode {
  output.print(given.has('json') ? JSON.stringify(json) : text);
  return 0;
}

/** Prints an error that is neither a bug nor a wrong argument. */
export function fail({ output }: Invocation, message: string): ExitCode {
  output.complain(`fanfare: ${message}`);
  return 1;
}

/** Prints a list, one line for each item. `none` is the text for an empty list; people also get the lines `after` it. */
export function printList<Item>(
  invocation: Invocation,
  items: readonly Item[],
  shown: {
    readonly json: (item: Item) => unknown;
    readonly line: (item: Item) => string;
    readonly none: string;
    readonly after?: readonly string[];
  },
): ExitCode {
  const lines = items.length === 0 ? [shown.none] : items.map(shown.line);
  const text = [...lines, ...(shown.after ?? [])].join('\n');
  return printResult(invocation, { json: items.map(shown.json), text });
}

/** A number with its noun, such as "1 device" and "2 devices". */
export function countOf(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

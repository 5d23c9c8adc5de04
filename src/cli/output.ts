import { printableLines } from '../runtime/printable.ts';
import { withShownUrls } from '../runtime/shown-url.ts';

/** Where a command writes to. Tests read it back. */
export interface Output {
  /** Writes a result to standard output. */
  print(text: string): void;
  /** Writes an error to standard error. */
  complain(text: string): void;
}

/** The terminal. Escapes control characters; JSON stays JSON with the same values. */
export const terminal: Output = {
  print: (text) => process.stdout.write(`${printableLines(text)}\n`),
  // The text may repeat what was typed, or an error of a library.
  complain: (text) => process.stderr.write(`${printableLines(withShownUrls(text))}\n`),
};

/** What each exit code means. */
export const exitCodes = {
  0: 'done, or stopped by a signal',
  1: 'failed',
  2: 'the arguments or the configuration are wrong',
} as const;

export type ExitCode = keyof typeof exitCodes;

/** Arguments that a command cannot take. The message is printed with a pointer to `--help`. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

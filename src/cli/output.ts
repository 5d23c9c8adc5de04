import { printableLines } from '../runtime/logging/printable.ts';
import { redactUrls } from '../runtime/logging/redact.ts';

/** Where a command writes to. Tests read it back. */
export interface Output {
  /** Writes a result to standard output. */
  print(text: string): void;
  /** Writes an error to standard error. */
  complain(text: string): void;
}

/** Writes to two streams. Escapes control characters; JSON stays JSON with the same values. */
export function outputTo(
  stdout: (text: string) => unknown,
  stderr: (text: string) => unknown,
): Output {
  return {
    print: (text) => stdout(`${printableLines(text)}\n`),
    // The text may repeat what was typed, or an error of a library.
    complain: (text) => stderr(`${printableLines(redactUrls(text))}\n`),
  };
}

export const terminal = outputTo(
  (text) => process.stdout.write(text),
  (text) => process.stderr.write(text),
);

/** What each exit code means. */
export const exitCodes = {
  0: 'done, or stopped by a signal',
  1: 'failed',
  2: 'the arguments or the configuration are wrong',
  3: '`verify` only: the server cannot be reached, or refuses',
} as const;

export type ExitCode = keyof typeof exitCodes;

/** Arguments that a command cannot take. The message is printed with a pointer to `--help`. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

import { printableLines } from '../runtime/printable.ts';
import { redactUrls } from '../runtime/redacted-url.ts';

/** Where a command writes to; a test reads it back. */
export interface Output {
  /** What was asked for. */
  print(text: string): void;
  /** What went wrong. */
  complain(text: string): void;
}

/** Writes lines to two streams, and escapes what could control a terminal. What is JSON stays JSON with the same values. */
export function outputTo(
  stdout: (text: string) => unknown,
  stderr: (text: string) => unknown,
): Output {
  return {
    print: (text) => stdout(`${printableLines(text)}\n`),
    // It may repeat what was typed, or an error of a library.
    complain: (text) => stderr(`${printableLines(redactUrls(text))}\n`),
  };
}

export const terminal = outputTo(
  (text) => process.stdout.write(text),
  (text) => process.stderr.write(text),
);

/** How a command ended: 0 as asked, 1 a fault, 2 its arguments or the configuration. */
export type ExitCode = 0 | 1 | 2;

/** Arguments that a command cannot take; told to its user with how to get help. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

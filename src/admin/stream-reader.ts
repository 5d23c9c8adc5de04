import type { Caller } from './rights.ts';

/** Who reads a stream. */
export interface StreamReader {
  /** For the log. */
  readonly caller: Caller;
  /** Aborts when the reader has gone, or may not read any more. */
  readonly signal: AbortSignal;
}

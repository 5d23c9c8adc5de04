import type { Caller } from './rights.ts';

/** Who reads a stream. */
export interface StreamReader {
  /** For the log. */
  readonly caller: Caller;
  /** Aborts when the reader has disconnected or is no longer authorised. */
  readonly signal: AbortSignal;
}

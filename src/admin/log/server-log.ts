import type { StreamReader } from '../stream-reader.ts';

/** The levels of the log, the least first. */
export const logLevels = ['debug', 'info', 'warn', 'error'] as const;

export type LogLevel = (typeof logLevels)[number];

/** Which lines to show. */
export interface LogFilter {
  /** The least level. */
  readonly level: LogLevel;
  /** Must be in the message, a field or its name; in any case. */
  readonly text?: string | undefined;
  /** Whether client addresses are shown. */
  readonly showsAddresses: boolean;
}

/** A line of the log. */
export interface ShownLine {
  /** Rises with every line, also over restarts. */
  readonly n: number;
  readonly atMs: number;
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: Readonly<Record<string, string | number | boolean>>;
}

/** The last lines of the log of one server. */
export interface ServerLog {
  /** The newest ones before `before`, the oldest first. `more`: there are older ones that fit. */
  list(filter: LogFilter & { readonly before: number | undefined; readonly limit: number }): {
    readonly lines: readonly ShownLine[];
    readonly more: boolean;
  };
  /**
   * Opens a stream of further lines, after those that follow `after` and are still kept. Throws `OperationRefused` if there
   * are too many.
   */
  follow(
    filter: LogFilter & { readonly after: number | undefined },
    reader: StreamReader,
  ): ReadableStream<Uint8Array>;
}

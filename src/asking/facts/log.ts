import type { LogLevel } from '../../runtime/logging/log-level.ts';
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
  /** Increases with each line, even across restarts. */
  readonly n: number;
  readonly atMs: number;
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: Readonly<Record<string, string | number | boolean>>;
}

/** Selects kept lines. */
export interface LogQuery extends LogFilter {
  /** Only lines before this time. Milliseconds since 1970. */
  readonly beforeMs?: number | undefined;
  readonly limit: number;
}

/** The newest lines that fit, the oldest first. All lines of the first one's millisecond are in it. */
export interface LogPage<Line = ShownLine> {
  readonly lines: readonly Line[];
  /** Whether there are older ones that fit. */
  readonly more: boolean;
}

/** Milliseconds since 1970. */
export interface Clock {
  now(): number;
}

/** A clock with timers. */
export interface Timers extends Clock {
  /** Calls `run` once after the delay. Gives a function that cancels it. */
  after(delayMs: number, run: () => void): () => void;
}

/** The log for operators. Fields are flat, and never contain a secret. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

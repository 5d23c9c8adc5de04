/** Milliseconds since 1970. */
export interface Clock {
  now(): number;
}

/** A clock that can also be asked to call back; what it gives calls that off. */
export interface Timers extends Clock {
  after(delayMs: number, run: () => void): () => void;
}

/** One line per thing worth telling an operator. Fields are flat, and never hold a secret. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

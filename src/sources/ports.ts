import type { OutboxResult, OutboxRow, RowKind } from './row.ts';

export interface LookOptions {
  /** Only rows with a larger id … */
  readonly after: bigint;
  /** … and those of transactions that have ended: each was running at an earlier look, and writes larger ids than this. */
  readonly running: ReadonlyMap<string, bigint>;
  /** Only rows of these kinds. */
  readonly kinds: readonly RowKind[];
}

/** What a look at an outbox has found and done. `followed-elsewhere`: another server has the lock, and nothing was read. */
export type Look =
  | 'followed-elsewhere'
  | {
      readonly rows: readonly OutboxRow[];
      /** What became of each row. */
      readonly results: readonly OutboxResult[];
      /** Whether there may be more rows behind these. */
      readonly isFull: boolean;
      /** The transactions that ran while the rows were read, and may still commit rows with smaller ids. */
      readonly running: readonly string[];
      /** How long it took to find them. Milliseconds. */
      readonly readMs: number;
    };

/** The state of an outbox. */
export interface OutboxFigures {
  /** The age of the oldest row that waits, by the clock of its database. */
  readonly lagSeconds: number;
  /** Counted up to 10,000, like `failed`. */
  readonly waiting: number;
  readonly failed: number;
  /** Why the last of the failed rows failed. */
  readonly lastFailure: string | undefined;
}

/** The table that an application writes into. Every function throws if its database cannot be used. */
export interface SourceOutbox extends AsyncDisposable {
  /**
   * Reads the next rows, by id, hands them to `send`, deletes those that were sent and marks those that can never be, all in one
   * transaction that no other server has at the same time. If it fails after `send`, the same rows come again.
   */
  look(
    options: LookOptions,
    send: (rows: readonly OutboxRow[]) => Promise<readonly OutboxResult[]>,
  ): Promise<Look>;
  figures(): Promise<OutboxFigures>;
  /** Deletes failed rows that are old, or too many. */
  tidy(): Promise<void>;
}

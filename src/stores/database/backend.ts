import type { SQL } from 'bun';
import type { Dialect } from './dialect.ts';
import type { Begin } from './write-queue.ts';

/** What the two databases do each in its own way. */
export interface Backend {
  readonly dialect: Dialect;
  /** Sees what is committed, and nothing else. Asked for anew each time: it may be another one later. */
  readonly read: SQL;
  readonly begin: Begin;
  /** The same without a limit of time: a migration may have to read all of a large table. */
  readonly beginUnhurried: Begin;
  readonly commitsAtOnce: number;
  /** Throws `StoreUnavailable` where what is in it is damaged, as far as that can be found out. */
  check(): Promise<void>;
  /** From now on, nobody is waited for longer than a running server can stand still. */
  waitBriefly(): Promise<void>;
  /** Why the store is not the one that was opened any more; `undefined` where it is. */
  lost(): Promise<string | undefined>;
  close(): Promise<void>;
}

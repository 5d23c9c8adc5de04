import type { SQL } from 'bun';
import type { ClientTls } from '../../runtime/tls/certificate.ts';
import type { Dialect } from './dialect.ts';
import type { Pooler } from './postgres-session.ts';
import type { Begin } from './write-queue.ts';

/** The differences between SQLite and PostgreSQL. */
export interface DatabaseBackend {
  readonly dialect: Dialect;
  /** What was found at the start between this server and its database. */
  readonly pooler: Pooler | undefined;
  /** Ends what is said of an error: the network file system of the store, if it is on one. */
  readonly diskNote: string;
  /** Reads committed data. Get it for each use, because it may be replaced. */
  readonly read: SQL;
  readonly begin: Begin;
  /** Begins a transaction without a time limit: a migration may have to read all of a large table. */
  readonly beginUnhurried: Begin;
  readonly commitsAtOnce: number;
  /** Throws `StoreUnavailable` if the store is damaged, as far as that can be detected. */
  check(): Promise<void>;
  /** Shortens the time that statements wait for other processes. */
  waitBriefly(): Promise<void>;
  /** Why the store is no longer the one that was opened; `undefined` if it is. */
  lost(): Promise<string | undefined>;
  /** Tells this database from all others, also from its copies; `undefined`: unknown, or a file. */
  identity(): Promise<string | undefined>;
  /** Sets what the next connections to PostgreSQL use for TLS. Those that are open are replaced. */
  useTls(tls: ClientTls): void;
  /** Sets the address of the next connections: the same database, with another user or password. */
  useUrl(url: string): void;
  close(): Promise<void>;
}

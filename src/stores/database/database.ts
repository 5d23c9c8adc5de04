import { resolve } from 'node:path';
import { SQL } from 'bun';
import { messageOf } from '../../runtime/error-code.ts';
import { redactedUrl } from '../../runtime/logging/redact.ts';
import { type ClientTls, NO_CLIENT_TLS } from '../../runtime/tls/certificate.ts';
import type { DatabaseBackend } from './backend.ts';
import type { Dialect } from './dialect.ts';
import { isAway, StoreAway, StoreUnavailable } from './faults.ts';
import { networkNote } from './file-system.ts';
import { migrate } from './migrations.ts';
import { openPostgres } from './postgres.ts';
import { whyUnreached } from './postgres-reach.ts';
import type { Pooler } from './postgres-session.ts';
import { openSqlite } from './sqlite.ts';
import type { WriteOwner } from './waiting-changes.ts';
import { type Change, WriteQueue } from './write-queue.ts';

/** The store's database. */
export class Database implements AsyncDisposable {
  readonly dialect: Dialect;
  /** What was found at the start between this server and its database. */
  readonly pooler: Pooler | undefined;
  /** Ends what is said of an error: the network file system of the store, if it is on one. */
  readonly diskNote: string;
  private readonly backend: DatabaseBackend;
  /** Called with the owner of each change that is refused because too many wait. */
  onRefused: (owner: WriteOwner) => void = () => undefined;
  private readonly queue: WriteQueue;

  constructor(backend: DatabaseBackend) {
    const { begin, commitsAtOnce } = backend;
    this.backend = backend;
    this.dialect = backend.dialect;
    this.pooler = backend.pooler;
    this.diskNote = backend.diskNote;
    this.queue = new WriteQueue({
      begin,
      commitsAtOnce,
      now: () => performance.now(),
      refused: (owner) => this.onRefused(owner),
    });
  }

  /** Reads committed data. Do not keep the object: after a fault it is replaced. */
  get read(): SQL {
    return this.backend.read;
  }

  /**
   * Makes a change in one transaction, and settles when it is durable. Changes share commits, so a change must not
   * wait for anything but its own statements. `owner` is whom the change is for; see `WaitingChanges`. Rejects with
   * `StoreBusy` if too many changes wait and the owner has the most of them.
   */
  write<T>(change: Change<T>, owner?: WriteOwner): Promise<T> {
    return this.queue.run(change, owner);
  }

  /** Throws `StoreUnavailable` if the store is damaged, as far as that can be detected. */
  check(): Promise<void> {
    return this.backend.check();
  }

  /** Shortens the time that statements wait for other processes, from that of a start to that of a running server. */
  waitBriefly(): Promise<void> {
    return this.backend.waitBriefly();
  }

  /** Why this is no longer the store that was opened; `undefined` if it is. Throws if it cannot be read. */
  lost(): Promise<string | undefined> {
    return this.backend.lost();
  }

  /** Tells this database from all others, also from its copies; `undefined`: unknown, or a file. */
  identity(): Promise<string | undefined> {
    return this.backend.identity();
  }

  /** Sets what the next connections use for TLS. */
  useTls(tls: ClientTls): void {
    this.backend.useTls(tls);
  }

  /** Sets the address for the next connections: the same database, with another user or password. */
  useUrl(url: string): void {
    this.backend.useUrl(url);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.queue.drained();
    await this.backend.close();
  }
}

/**
 * Opens the store at `url` (`sqlite:FILE` or `postgres://…`), creating it if needed, and migrates its tables. `tls` is
 * for PostgreSQL. Throws `StoreUnavailable`, or `StoreAway` if its database cannot be used at the moment.
 */
export async function openDatabase(url: string, tls = NO_CLIENT_TLS): Promise<Database> {
  const filename = sqliteFileOf(url);
  try {
    const backend =
      filename === undefined ? await openPostgres(url, { tls }) : await openSqlite(url, filename);
    try {
      await migrate(backend);
      return new Database(backend);
    } catch (error) {
      await backend.close();
      throw error;
    }
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    const why =
      filename === undefined
        ? await whyUnreached(url, tls, error)
        : `${messageOf(error)}${networkNote(filename)}`;
    // SQLite may find the damage before the store is checked.
    const isDamaged = error instanceof SQL.SQLiteError && error.code.startsWith('SQLITE_CORRUPT');
    const fault = isDamaged ? 'is damaged, restore it from a backup' : 'cannot be opened';
    const Fault = isAway(error) ? StoreAway : StoreUnavailable;
    throw new Fault(`The store ${shownStore(url)} ${fault}: ${why}`, { cause: error });
  }
}

/** The absolute path of a store in SQLite, or `:memory:`; `undefined` for PostgreSQL. */
export function sqliteFileOf(url: string): string | undefined {
  const file = /^sqlite:(?:\/\/)?(.+)$/s.exec(url)?.[1];
  return file === undefined || file === ':memory:' ? file : resolve(file);
}

/** A store's address without its password. */
export function shownStore(url: string): string {
  // A password without percent-encoding may look like a port and a path.
  const masked = url.replace(/^([a-z]+:\/\/).*@/is, '$1***@');
  return sqliteFileOf(url) === undefined ? redactedUrl(masked) : url;
}

import { Database } from 'bun:sqlite';
import { realpathSync } from 'node:fs';
import { hostname } from 'node:os';
import { sqliteFileOf } from './database.ts';
import { StoreUnavailable } from './faults.ts';
import { fileIdentity, makeFile, requireOneName } from './sqlite.ts';

/** How long a start waits for another server that is writing down who it is, or is ending. Milliseconds. */
const START_TIMEOUT_MS = 250;

/** How long the owner waits for those who read who it is. Milliseconds. */
const WRITE_TIMEOUT_MS = 2000;

interface Owner {
  readonly pid: number;
  readonly host: string;
  readonly since: string;
}

/**
 * The right of one server to use a store in SQLite, for as long as the server lives. Several servers may share a
 * store in PostgreSQL, and a store in memory belongs to its process: both need no lock.
 *
 * Beside the store `FILE`, a small database `FILE.lock` says who the owner is, and a transaction that is never
 * committed keeps it locked. The kernel ends such a lock with the process, however that dies, and keeps it while
 * the process is only stopped. Commands do not take it.
 */
export class StoreLock implements Disposable {
  private readonly file: string | undefined;
  private held: Held | undefined;

  private constructor(file: string | undefined) {
    this.file = file;
    this.held = file === undefined ? undefined : lock(file, START_TIMEOUT_MS);
  }

  /** Takes the lock of the store at `url`. Throws `StoreUnavailable` where another server has it. */
  static take(url: string): StoreLock {
    const store = sqliteFileOf(url);
    if (store === undefined || store === ':memory:') return new StoreLock(undefined);
    requireOneName(url, store);
    try {
      makeFile(store);
      // Beside the file itself, by whatever path or symbolic link the store is named.
      return new StoreLock(`${realpathSync(store)}.lock`);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw error instanceof StoreUnavailable
        ? new StoreUnavailable(`The store ${url} ${why}`)
        : new StoreUnavailable(`The store ${url} cannot be locked with ${store}.lock: ${why}`, {
            cause: error,
          });
    }
  }

  /**
   * Takes the lock again if somebody has removed its file. `undefined` if this server has the lock; otherwise why
   * it has not, without any name of a file: devices read it, too.
   */
  lost(): string | undefined {
    const { file, held } = this;
    if (file === undefined || (held !== undefined && fileIdentity(file) === held.identity)) {
      return undefined;
    }
    this[Symbol.dispose]();
    try {
      // Everything else of this loop waits, too.
      this.held = lock(file, 0);
      return undefined;
    } catch (error) {
      return error instanceof StoreUnavailable
        ? 'another server uses it'
        : "the store's lock was removed and cannot be taken again";
    }
  }

  [Symbol.dispose](): void {
    this.held?.database.close();
    this.held = undefined;
  }
}

interface Held {
  readonly database: Database;
  readonly identity: string;
}

/** Throws `StoreUnavailable` where another process has the lock, and what SQLite throws where it cannot be taken. */
function lock(file: string, timeoutMs: number): Held {
  makeFile(file);
  const database = new Database(file, { readwrite: true, create: true });
  try {
    const owner = { pid: process.pid, host: hostname(), since: new Date().toISOString() };
    // What a transaction has written is seen once it is committed, which ends its lock. So the lock is taken
    // again; another server that starts at this moment may come in between.
    for (let canWrite = true; ; ) {
      database.run(`PRAGMA busy_timeout = ${timeoutMs}`);
      // Immediate: nobody else can write any more, and everybody can still read.
      database.run('BEGIN IMMEDIATE');
      if (!canWrite || isSame(ownerIn(database), owner)) break;
      canWrite = write(database, owner);
    }
    return { database, identity: fileIdentity(file) };
  } catch (error) {
    const isTaken = isBusy(error);
    const owner = isTaken ? ownerIfReadable(database) : undefined;
    database.close();
    throw isTaken ? new StoreUnavailable(inUse(owner)) : error;
  }
}

/** Commits who has the lock, which ends the transaction. `false` where it cannot be written: the disk may be full. */
function write(database: Database, { pid, host, since }: Owner): boolean {
  try {
    database.run(`PRAGMA busy_timeout = ${WRITE_TIMEOUT_MS}`);
    database.run('CREATE TABLE IF NOT EXISTS owner (pid INTEGER, host TEXT, since TEXT)');
    database.run('DELETE FROM owner');
    database.run('INSERT INTO owner (pid, host, since) VALUES (?, ?, ?)', [pid, host, since]);
    database.run('COMMIT');
    return true;
  } catch (error) {
    if (isBusy(error)) throw error;
    // Some errors have ended it already.
    if (database.inTransaction) database.run('ROLLBACK');
    return false;
  }
}

function ownerIfReadable(database: Database): Owner | undefined {
  try {
    return ownerIn(database);
  } catch {
    // The owner is writing at this very moment. That there is one is known.
    return undefined;
  }
}

/** Who has locked the store last; `undefined` where nobody has. */
function ownerIn(database: Database): Owner | undefined {
  const tables = database.query("SELECT 1 FROM sqlite_schema WHERE name = 'owner'").all();
  if (tables.length === 0) return undefined;
  return database.query<Owner, []>('SELECT pid, host, since FROM owner').get() ?? undefined;
}

function isSame(one: Owner | undefined, { pid, host, since }: Owner): boolean {
  return one?.pid === pid && one.host === host && one.since === since;
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'SQLITE_BUSY';
}

function inUse(owner: Owner | undefined): string {
  const who =
    owner === undefined ? '' : `: process ${owner.pid} on ${owner.host}, since ${owner.since}`;
  return `is used by another server${who}. Stop that one first; one server at a time may use a store in SQLite`;
}

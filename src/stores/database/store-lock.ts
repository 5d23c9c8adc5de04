import { Database } from 'bun:sqlite';
import { realpathSync } from 'node:fs';
import { hostname } from 'node:os';
import { errorCode, messageOf } from '../../runtime/error-code.ts';
import { sqliteFileOf } from './database.ts';
import { StoreUnavailable } from './faults.ts';
import { networkNote } from './file-system.ts';
import { fileIdentity, makeFile, requireOneName } from './sqlite.ts';

/** How long a start waits for another server that is writing its identity or stopping. Milliseconds. */
const START_TIMEOUT_MS = 250;

/** How long the owner waits for processes that read its identity. Milliseconds. */
const WRITE_TIMEOUT_MS = 2000;

interface Owner {
  readonly pid: number;
  readonly host: string;
  readonly since: string;
}

/**
 * The exclusive right of a server to use an SQLite store. Stores in PostgreSQL may be shared, and those in memory
 * belong to one process, so both need no lock. Commands do not take it.
 *
 * A small database `FILE.lock` next to the store `FILE` names the owner, and is locked by a transaction that is never
 * committed. The kernel releases the lock when the process ends in any way, but not while it is stopped.
 */
export class StoreLock implements Disposable {
  private readonly file: string | undefined;
  private held: Held | undefined;

  private constructor(file: string | undefined) {
    this.file = file;
    this.held = file === undefined ? undefined : lock(file, START_TIMEOUT_MS);
  }

  /** Takes the lock of the store at `url`. Throws `StoreUnavailable` if another server has it. */
  static take(url: string): StoreLock {
    const store = sqliteFileOf(url);
    if (store === undefined || store === ':memory:') return new StoreLock(undefined);
    requireOneName(url, store);
    try {
      makeFile(store);
      // Beside the file itself, even if the store is named by a symbolic link.
      return new StoreLock(`${realpathSync(store)}.lock`);
    } catch (error) {
      const why = messageOf(error);
      throw error instanceof StoreUnavailable
        ? new StoreUnavailable(`The store ${url} ${why}${networkNote(store)}`)
        : new StoreUnavailable(
            `The store ${url} cannot be locked with ${store}.lock: ${why}${networkNote(store)}`,
            { cause: error },
          );
    }
  }

  /**
   * Takes the lock again if its file was removed. Returns `undefined` if this server has the lock, otherwise why not,
   * without the file's name, because devices see this text.
   */
  lost(): string | undefined {
    const { file, held } = this;
    if (file === undefined || (held !== undefined && fileIdentity(file) === held.identity)) {
      return undefined;
    }
    this[Symbol.dispose]();
    try {
      // Without waiting, which would block the event loop.
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

/** Throws `StoreUnavailable` if another process has the lock, otherwise SQLite's error. */
function lock(file: string, timeoutMs: number): Held {
  makeFile(file);
  const database = new Database(file, { readwrite: true, create: true });
  try {
    const owner = { pid: process.pid, host: hostname(), since: new Date().toISOString() };
    // The owner only becomes visible by a commit, which releases the lock. So the lock is taken again afterwards;
    // another server that starts at this moment may take it first.
    for (let canWrite = true; ; ) {
      database.run(`PRAGMA busy_timeout = ${timeoutMs}`);
      // Immediate: other processes can read, but not write.
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

/** Commits the owner, which ends the transaction. `false` if it cannot be written, for example on a full disk. */
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
    // Some errors end the transaction.
    if (database.inTransaction) database.run('ROLLBACK');
    return false;
  }
}

function ownerIfReadable(database: Database): Owner | undefined {
  try {
    return ownerIn(database);
  } catch {
    // The owner is writing its identity at this moment.
    return undefined;
  }
}

/** The last owner of the lock, if any. */
function ownerIn(database: Database): Owner | undefined {
  const tables = database.query("SELECT 1 FROM sqlite_schema WHERE name = 'owner'").all();
  if (tables.length === 0) return undefined;
  return database.query<Owner, []>('SELECT pid, host, since FROM owner').get() ?? undefined;
}

function isSame(one: Owner | undefined, { pid, host, since }: Owner): boolean {
  return one?.pid === pid && one.host === host && one.since === since;
}

function isBusy(error: unknown): boolean {
  return errorCode(error) === 'SQLITE_BUSY';
}

function inUse(owner: Owner | undefined): string {
  const who =
    owner === undefined ? '' : `: process ${owner.pid} on ${owner.host}, since ${owner.since}`;
  return `is used by another server${who}. Stop that server first: only one server at a time may use a store in SQLite`;
}

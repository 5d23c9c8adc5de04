import { resolve } from 'node:path';
import type { SQL } from 'bun';
import { redactedUrl } from '../../runtime/redact.ts';
import type { Backend } from './backend.ts';
import type { Dialect } from './dialect.ts';
import { StoreUnavailable } from './faults.ts';
import { migrate } from './migrations.ts';
import { openPostgres } from './postgres.ts';
import { openSqlite } from './sqlite.ts';
import type { WriteOwner } from './waiting-changes.ts';
import { type Change, WriteQueue } from './write-queue.ts';

/** The store's database. Whoever reads uses `read`; all that changes something goes through `write`. */
export class Database implements AsyncDisposable {
  readonly dialect: Dialect;
  private readonly backend: Backend;
  /** Called for each change that is refused because too many wait, with whose it is. */
  onRefused: (owner: WriteOwner) => void = () => undefined;
  private readonly queue: WriteQueue;

  constructor(backend: Backend) {
    const { begin, commitsAtOnce } = backend;
    this.backend = backend;
    this.dialect = backend.dialect;
    this.queue = new WriteQueue({
      begin,
      commitsAtOnce,
      now: () => performance.now(),
      refused: (owner) => this.onRefused(owner),
    });
  }

  /** Sees what is committed. Not to be kept: after a fault it may be another one. */
  get read(): SQL {
    return this.backend.read;
  }

  /**
   * Makes a change, all of it or nothing, and settles when it is durable. Changes that wait at the same time
   * share one commit, so it must not wait for anything but its own statements. What is done for an instance or for
   * the admin API names it as the owner, so that no owner keeps the others waiting. Rejects with `StoreBusy` where
   * its owner has too many changes waiting.
   */
  write<T>(change: Change<T>, owner?: WriteOwner): Promise<T> {
    return this.queue.run(change, owner);
  }

  /** Throws `StoreUnavailable` where what is in the store is damaged, as far as that can be found out. */
  check(): Promise<void> {
    return this.backend.check();
  }

  /** From now on, nobody is waited for longer than a running server can stand still. */
  waitBriefly(): Promise<void> {
    return this.backend.waitBriefly();
  }

  /** Why this is not the store that was opened any more; `undefined` where it is. Throws where it cannot tell. */
  lost(): Promise<string | undefined> {
    return this.backend.lost();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.queue.drained();
    await this.backend.close();
  }
}

/**
 * Opens the store at `url` (`sqlite:FILE` or `postgres://…`), makes it if it is not there, and brings its
 * tables up to date. Throws `StoreUnavailable`.
 */
export async function openDatabase(url: string): Promise<Database> {
  const filename = sqliteFileOf(url);
  try {
    const backend =
      filename === undefined ? await openPostgres(url) : await openSqlite(url, filename);
    try {
      await migrate(backend);
      return new Database(backend);
    } catch (error) {
      await backend.close();
      throw error;
    }
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new StoreUnavailable(`The store ${shownStore(url)} cannot be opened: ${why}`, {
      cause: error,
    });
  }
}

/** The file of a store in SQLite with its whole path, or `:memory:`; `undefined` where a store is kept elsewhere. */
export function sqliteFileOf(url: string): string | undefined {
  const file = /^sqlite:(?:\/\/)?(.+)$/s.exec(url)?.[1];
  return file === undefined || file === ':memory:' ? file : resolve(file);
}

/** A store's address as people may see it. */
export function shownStore(url: string): string {
  // A password that is not encoded as it should be may look like a port and a path.
  const masked = url.replace(/^([a-z]+:\/\/).*@/is, '$1***@');
  return sqliteFileOf(url) === undefined ? redactedUrl(masked) : url;
}

import { SQL, type TransactionSQL } from 'bun';
import type { DatabaseBackend } from '../../../../src/stores/database/backend.ts';
import { migrate } from '../../../../src/stores/database/migrations.ts';
import { openSqlite } from '../../../../src/stores/database/sqlite.ts';
import type { Begin } from '../../../../src/stores/database/write-queue.ts';

/**
 * What happens to one call. A commit of SQLite is there whole or not at all, also after a torn write, whose checksum is wrong. So
 * a server that dies in a commit has lost it whole (`lost`), or it is durable and nobody was told (`kept`).
 */
export const diskFaults = ['error', 'full', 'lost', 'kept'] as const;

export type DiskFault = (typeof diskFaults)[number];

/** A process that uses the disk. */
export interface DiskUser {
  readonly isDead: () => boolean;
  readonly die: () => void;
}

export interface DiskPlan {
  /** Decides about a call: of a commit, or of a statement that only reads. */
  readonly next: (call: number) => DiskFault | undefined;
  /** Called when a call fails. */
  readonly failed: () => void;
  /** Called when the disk gets full. */
  readonly filled: () => void;
  /** Whether nothing can be written. */
  readonly isFull: () => boolean;
  /** Whether a commit is answered, and then forgotten. */
  readonly forgets: () => boolean;
}

/** Tables whose rows a new store has. */
const OF_A_NEW_STORE = ['migrations', 'revisions', 'compatibility'];

const URL_IN_MEMORY = 'sqlite::memory:';

/** Undoes a commit that was answered. */
class Forgotten extends Error {}

/** SQLite in memory, on a disk that fails as planned. */
export class Disk {
  /** Without any faults. */
  readonly backend: DatabaseBackend;
  /** How many calls were made since it was emptied. */
  private calls = 0;
  private plan: DiskPlan | undefined;
  /** Settles when the transaction is over. Others that read see only what was committed. */
  private transaction: Promise<unknown> = Promise.resolve();

  private constructor(backend: DatabaseBackend) {
    this.backend = backend;
  }

  static async open(): Promise<Disk> {
    const backend = await openSqlite(URL_IN_MEMORY, ':memory:');
    await migrate(backend);
    return new Disk(backend);
  }

  /** Makes it as new, with one instance. Returns the number of that. `plan`: what goes wrong from now on. */
  async empty(plan: DiskPlan): Promise<number> {
    const { read } = this.backend;
    const tables: { name: string }[] = await read`
      SELECT name FROM sqlite_master WHERE type = 'table'`;
    const used = tables.filter(({ name }) => !OF_A_NEW_STORE.includes(name));
    const instance = await this.backend.begin(async (sql) => {
      for (const { name } of used) await sql.unsafe(`DELETE FROM "${name}"`);
      const [made]: { number: number }[] = await sql`
        INSERT INTO instance_numbers (id, devices) VALUES ('instance', 0) RETURNING number`;
      return made?.number ?? 0;
    });
    this.plan = plan;
    this.calls = 0;
    this.transaction = Promise.resolve();
    return instance;
  }

  /** The database as a process sees it. */
  usedBy(user: DiskUser): DatabaseBackend {
    const begin: Begin = (work) => this.begin(user, work);
    const read = this.readOf(user);
    return { ...this.backend, begin, beginUnhurried: begin, read, close: async () => undefined };
  }

  private async begin<T>(user: DiskUser, work: (sql: TransactionSQL) => Promise<T>): Promise<T> {
    if (user.isDead()) return await never();
    const fault = this.next();
    const isFull = fault === undefined && this.plan?.isFull() === true;
    const forgets = this.plan?.forgets() === true;
    if (fault === 'full') this.plan?.filled();
    const isRefused = isFull || fault === 'error' || fault === 'full';
    let result: { readonly value: T } | undefined;
    const run = this.backend.begin(async (sql) => {
      result = { value: await work(sql) };
      if (isRefused) throw errorOf(fault ?? 'full');
      if (fault === 'lost' || forgets) throw new Forgotten();
      return result.value;
    });
    this.transaction = run.catch(() => undefined);
    try {
      const value = await run;
      return fault === 'kept' ? await this.die(user) : value;
    } catch (error) {
      if (fault === 'lost') return await this.die(user);
      if (error instanceof Forgotten && result !== undefined) return result.value;
      if (isRefused) this.plan?.failed();
      throw error;
    }
  }

  /** A connection that only reads. Each statement is a call when it is run; a part of a statement is none. */
  private readOf(user: DiskUser): SQL {
    return new Proxy(this.backend.read, {
      apply: (target, self, args: unknown[]) => {
        const made: unknown = Reflect.apply(target as never, self, args);
        const [text] = args;
        const isStatement = Array.isArray(text) && 'raw' in text;
        if (!isStatement || !(made instanceof Promise)) return made;
        const run = made.then.bind(made);
        const read = async () => {
          await this.beforeRead(user);
          for (let ended: unknown; ended !== this.transaction; ) {
            ended = this.transaction;
            await ended;
          }
          return await new Promise((resolve, reject) => void run(resolve, reject));
        };
        Object.defineProperty(made, 'then', {
          value: (...handlers: Parameters<typeof run>) => read().then(...handlers),
        });
        return made;
      },
    });
  }

  private async beforeRead(user: DiskUser): Promise<void> {
    if (user.isDead()) await never();
    const fault = this.next();
    if (fault === 'lost' || fault === 'kept') await this.die(user);
    // A full disk can be read.
    if (fault !== 'error') return;
    this.plan?.failed();
    throw errorOf('error');
  }

  private next(): DiskFault | undefined {
    this.calls += 1;
    return this.plan?.next(this.calls);
  }

  private async die(user: DiskUser): Promise<never> {
    user.die();
    return await never();
  }
}

/** What a process gets that has died. */
function never(): Promise<never> {
  return new Promise(() => undefined);
}

/** The types of Bun lack the constructor. */
const SQLiteError = SQL.SQLiteError as unknown as new (
  message: string,
  options: { readonly code: string; readonly errno: number },
) => Error;

function errorOf(fault: DiskFault): Error {
  return fault === 'full'
    ? new SQLiteError('database or disk is full', { code: 'SQLITE_FULL', errno: 13 })
    : new SQLiteError('disk I/O error', { code: 'SQLITE_IOERR', errno: 10 });
}

import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { SQL } from 'bun';
import { migrate } from './migrations.ts';

/** Milliseconds that a statement waits for another process, such as the command line, to finish writing. */
const BUSY_TIMEOUT_MS = 5000;

/** What this version cannot open a store with; told to the operator as it is. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/** Opens the store at `url`, makes it if it is not there, and brings its tables up to date. */
export async function openDatabase(url: string): Promise<SQL> {
  const filename = /^sqlite:(?:\/\/)?(.+)$/.exec(url)?.[1];
  if (filename === undefined) {
    throw new StoreUnavailable(
      'store.url: this version keeps its store in SQLite only, for example sqlite:data/fanfare.db',
    );
  }
  try {
    if (filename !== ':memory:') mkdirSync(dirname(filename), { recursive: true, mode: 0o700 });
    const sql = new SQL({ adapter: 'sqlite', filename, create: true });
    await sql.unsafe(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    await sql.unsafe('PRAGMA journal_mode = WAL');
    // What was accepted must survive a power cut, not only a crash.
    await sql.unsafe('PRAGMA synchronous = FULL');
    await sql.unsafe('PRAGMA foreign_keys = ON');
    await migrate(sql);
    return sql;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new StoreUnavailable(`The store ${url} cannot be opened: ${why}`, { cause: error });
  }
}

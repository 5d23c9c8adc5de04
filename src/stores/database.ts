import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { SQL } from 'bun';
import { migrate } from './migrations.ts';

/** Milliseconds that a statement waits for another process, such as the command line, to finish writing. */
const BUSY_TIMEOUT_MS = 5000;

/**
 * The same for a server that runs: statements wait where everything else of its loop waits too, and what
 * cannot be written now is written later.
 */
const BUSY_TIMEOUT_RUNNING_MS = 250;

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

/** Reads all of the store, and throws where it is damaged: a server must not find out one day later. */
export async function checkDatabase(sql: SQL, url: string): Promise<void> {
  let found: string | undefined;
  try {
    const rows: { quick_check: string }[] = await sql.unsafe('PRAGMA quick_check(1)');
    found = rows[0]?.quick_check;
  } catch (error) {
    found = error instanceof Error ? error.message : String(error);
  }
  if (found === 'ok') return;
  const [why = ''] = (found ?? '').split('\n').slice(-1);
  throw new StoreUnavailable(`The store ${url} is damaged, restore it from a backup: ${why}`);
}

/** From now on, statements give up soon where another process is writing. */
export async function waitBriefly(sql: SQL): Promise<void> {
  await sql.unsafe(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_RUNNING_MS}`);
}

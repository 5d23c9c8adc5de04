import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { messageOf } from '../../runtime/error-code.ts';
import { writeOut } from './beside-store.ts';
import { sqliteFileOf } from './database.ts';
import { StoreUnavailable } from './faults.ts';
import { requireOneName } from './sqlite.ts';
import { copySqlite } from './sqlite-copy.ts';

export interface StoreBackup {
  /** The absolute path. */
  readonly file: string;
  readonly bytes: number;
}

/**
 * Copies the store at `url` into a new file, also while a server writes to it. The file appears only once it is complete
 * and on the disk. Throws `StoreUnavailable`.
 */
export async function backUpStore(url: string, target: string): Promise<StoreBackup> {
  const store = fileOfStore(url);
  const file = resolve(target);
  refuseExisting(file);
  const unfinished = `${file}.${randomBytes(4).toString('hex')}.unfinished`;
  makeEmpty(unfinished);
  try {
    await copySqlite(store, unfinished);
    writeOut(unfinished);
    // It may have been created in the meantime.
    refuseExisting(file);
    renameSync(unfinished, file);
    writeOut(dirname(file));
  } catch (error) {
    rmSync(unfinished, { force: true });
    if (error instanceof StoreUnavailable) throw error;
    throw new StoreUnavailable(`The store ${url} cannot be copied: ${messageOf(error)}`, {
      cause: error,
    });
  }
  return { file, bytes: statSync(file).size };
}

function fileOfStore(url: string): string {
  const store = sqliteFileOf(url);
  if (store === undefined) {
    throw new StoreUnavailable('The store is in PostgreSQL: back it up with pg_dump');
  }
  if (store === ':memory:') {
    throw new StoreUnavailable('The store is in memory: only its server could copy it');
  }
  if (!existsSync(store)) {
    throw new StoreUnavailable(`There is no store at ${store} (store.url is ${url})`);
  }
  requireOneName(url, store);
  return store;
}

function refuseExisting(file: string): void {
  if (existsSync(file)) {
    throw new StoreUnavailable(`${file} exists already, and is not overwritten`);
  }
}

/** Readable by its owner only, because it will hold secrets. */
function makeEmpty(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch (error) {
    throw new StoreUnavailable(`${dirname(file)} cannot be written to: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

import { SQL } from 'bun';
import { plainFault } from './faults.ts';
import { BUSY_TIMEOUT_MS, filenameFor } from './sqlite.ts';

/**
 * Copies a consistent snapshot of a store, which may be in use, into `target`, which must be empty or not exist. Throws
 * if the store does not exist, is not one of Fanfare, or is damaged.
 */
export async function copySqlite(file: string, target: string): Promise<void> {
  try {
    await using store = new SQL({
      adapter: 'sqlite',
      filename: filenameFor(file),
      create: false,
      readwrite: true,
    });
    await store.unsafe(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    // Otherwise any database would be copied.
    const tables: unknown[] = await store`
      SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'migrations'`;
    if (tables.length === 0) throw new Error('it is not a store of Fanfare');
    await store`VACUUM INTO ${target}`;
    await using copy = new SQL({
      adapter: 'sqlite',
      filename: filenameFor(target),
      readonly: true,
    });
    const found: { quick_check: string }[] = await copy.unsafe('PRAGMA quick_check(1)');
    if (found[0]?.quick_check !== 'ok') throw new Error('the store is damaged');
  } catch (error) {
    throw new Error(plainFault(error), { cause: error });
  }
}

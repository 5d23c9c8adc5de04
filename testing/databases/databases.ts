import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '../../src/stores/database/database.ts';
import { migratedPostgres, throwAwayPostgres } from './postgres.ts';

/** A store for one test. Nothing of it remains when it is disposed of. */
export interface EmptyStore extends AsyncDisposable {
  readonly url: string;
}

interface DatabaseKind {
  readonly name: string;
  make(): Promise<EmptyStore>;
}

/** The databases that a store can be kept in, with its tables. Every store is tested on each. */
export const databases: readonly DatabaseKind[] = [
  { name: 'SQLite', make: migratedFile },
  { name: 'PostgreSQL', make: migratedPostgres },
];

/** The same, before any server has opened them: without tables. */
export const newDatabases: readonly DatabaseKind[] = [
  { name: 'SQLite', make: async () => sqliteFile() },
  { name: 'PostgreSQL', make: throwAwayPostgres },
];

let migrated: Promise<Buffer> | undefined;

async function migratedFile(): Promise<EmptyStore> {
  migrated ??= migratedBytes();
  const bytes = await migrated;
  const store = sqliteFile();
  writeFileSync(store.file, bytes);
  return store;
}

async function migratedBytes(): Promise<Buffer> {
  await using store = sqliteFile();
  await (await openDatabase(store.url))[Symbol.asyncDispose]();
  return readFileSync(store.file);
}

export function sqliteFile(): EmptyStore & { readonly file: string } {
  const folder = mkdtempSync(join(tmpdir(), 'fanfare-store-'));
  const file = join(folder, 'store.db');
  return {
    file,
    url: `sqlite:${file}`,
    async [Symbol.asyncDispose]() {
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

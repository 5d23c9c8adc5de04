import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '../../src/stores/database/database.ts';
import { type PgBouncer, startPgBouncer } from './pgbouncer.ts';
import { migratedPostgres, newStorePostgres, ODD_DEFAULTS, throwAwayPostgres } from './postgres.ts';

/** A store for one test. Nothing of it remains when it is disposed of. */
export interface EmptyStore extends AsyncDisposable {
  readonly url: string;
}

interface DatabaseKind {
  readonly name: string;
  make(): Promise<EmptyStore>;
}

/** Whether the environment variable `TEST_POOLER` puts a PgBouncer in transaction mode before PostgreSQL. */
const IS_POOLED = process.env['TEST_POOLER'] !== undefined;

/** The databases that a store can be kept in, with its tables. Every store is tested on each. */
export const databases: readonly DatabaseKind[] = [
  { name: 'SQLite', make: migratedFile },
  { name: 'PostgreSQL', make: () => perhapsPooled(migratedPostgres()) },
];

/** The kinds of databases before any server has opened them: without tables. */
export const newDatabases: readonly DatabaseKind[] = [
  { name: 'SQLite', make: async () => sqliteFile() },
  { name: 'PostgreSQL', make: () => perhapsPooled(throwAwayPostgres(ODD_DEFAULTS)) },
];

/** The kinds of databases as a server leaves them that has started for the first time. Tests may change tables. */
export const newStores: readonly DatabaseKind[] = [
  { name: 'SQLite', make: migratedFile },
  { name: 'PostgreSQL', make: () => perhapsPooled(newStorePostgres()) },
];

let pooler: Promise<PgBouncer> | undefined;

async function perhapsPooled(making: Promise<EmptyStore>): Promise<EmptyStore> {
  const store = await making;
  if (!IS_POOLED) return store;
  // All are in one cluster.
  pooler ??= startPgBouncer(store.url, 'transaction');
  const url = (await pooler).pooled(store.url);
  return { url, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
}

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

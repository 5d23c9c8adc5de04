import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { throwAwayPostgres } from './postgres.ts';

/** An empty store for one test, removed when it is disposed of. */
export interface EmptyStore extends AsyncDisposable {
  readonly url: string;
}

/** The databases that a store can be kept in. Every store is tested on each. */
export const databases: readonly { readonly name: string; make(): Promise<EmptyStore> }[] = [
  { name: 'SQLite', make: async () => sqliteFile() },
  { name: 'PostgreSQL', make: throwAwayPostgres },
];

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

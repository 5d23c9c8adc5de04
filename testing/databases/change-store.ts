import { join } from 'node:path';
import { SQL } from 'bun';
import type { Fanfare } from '../servers/fanfare.ts';

/** Longer than any server keeps its store locked. */
const LOCKED_MS = 10_000;

/** Runs statements on the store of a server, each in a transaction of its own. */
export async function changeStore(
  server: Pick<Fanfare, 'directory'>,
  ...statements: readonly string[]
): Promise<void> {
  const { store } = await Bun.file(join(server.directory, 'config.json')).json();
  await using sql = new SQL(store.url);
  if (String(store.url).startsWith('sqlite:'))
    await sql.unsafe(`PRAGMA busy_timeout = ${LOCKED_MS}`);
  for (const statement of statements) await sql.unsafe(statement);
}

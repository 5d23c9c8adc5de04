import { join } from 'node:path';
import { SQL } from 'bun';
import type { Fanfare } from '../servers/fanfare.ts';

/** Runs a statement on the store of a server, in another transaction than its own. */
export async function changeStore(server: Fanfare, statement: string): Promise<void> {
  const { store } = await Bun.file(join(server.directory, 'config.json')).json();
  await using sql = new SQL(store.url);
  await sql.unsafe(statement);
}

import type { Config } from '../config/schema.ts';
import { readStoreTls } from '../node/tls-files.ts';
import { type Database, openDatabase } from '../stores/database/database.ts';

/** Opens the store of a configuration. Throws `StoreUnavailable`, or `StartFailed` for a file of TLS. */
export async function openStore(config: Config): Promise<Database> {
  return await openDatabase(config.store.url, readStoreTls(config));
}

import type { Log } from '../../../runtime/ports.ts';
import { monotonicTimers, systemTimers } from '../../../runtime/system-timers.ts';
import type { ClientTls } from '../../../runtime/tls/certificate.ts';
import { type Database, openDatabase } from '../../../stores/database/database.ts';
import { StoreLock } from '../../../stores/database/store-lock.ts';
import type { Readiness } from '../../../transports/admin/readiness.ts';
import { examineDisk } from './store-disk.ts';
import { StoreHealth } from './store-health.ts';
import { waitForStore } from './wait-for-store.ts';

export interface OpenStoreOptions {
  readonly url: string;
  /** For PostgreSQL. */
  readonly tls: ClientTls;
  readonly readiness: Readiness;
  readonly log: Log;
}

export interface OpenStore extends AsyncDisposable {
  readonly database: Database;
  readonly health: StoreHealth;
}

/** Opens the store at `url`. Takes its lock first, because opening may migrate it. */
export async function openStore({
  url,
  tls,
  readiness,
  log,
}: OpenStoreOptions): Promise<OpenStore> {
  await using parts = new AsyncDisposableStack();
  examineDisk(url, { log });
  const lock = parts.use(StoreLock.take(url));
  const database = parts.use(
    await waitForStore(() => openDatabase(url, tls), { log, timers: monotonicTimers }),
  );
  reportPooler(database, log);
  await database.check();
  const health = parts.use(
    new StoreHealth({ database, lock, readiness, log, timers: systemTimers }),
  );
  const running = parts.move();
  return { database, health, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

function reportPooler({ pooler }: Database, log: Log): void {
  if (pooler === undefined) return;
  log.info('PostgreSQL is reached through a pooler', { mode: pooler.mode });
  if (pooler.limitsReads) return;
  log.warn('PostgreSQL does not limit the time of reads', {
    why: 'the pooler does not pass on statement_timeout: ALTER ROLE fanfare SET statement_timeout = 10000',
  });
}

import { expect, it } from 'bun:test';
import { type Database, openDatabase } from '../../../src/stores/database/database.ts';
import { StoredOutbox } from '../../../src/stores/webhooks/outbox.ts';
import { StoredOutboxLog } from '../../../src/stores/webhooks/outbox-log.ts';
import { databases } from '../../../testing/databases/databases.ts';
import { outboxContract, outboxRequest } from './outbox.contract.ts';

/** One of two servers has written the end of a publish while the other wrote that its start is over. */
async function holdOverdue(database: Database, id: string): Promise<void> {
  await database.write(
    (sql) => sql`UPDATE outbox_requests SET next_attempt_at = ${Date.UTC(275760, 8, 13)},
      after_id = 'over' WHERE id = ${id}`,
  );
}

for (const { name, make } of databases) {
  it(`blocked requests are unblocked once the blocking one is over, on ${name}`, async () => {
    await using store = await make();
    await using database = await openDatabase(store.url);
    const outbox = new StoredOutbox(database);
    await outbox.write([outboxRequest(1), outboxRequest(2, { afterId: 'id-000001' })], []);
    const claimed = async () => {
      const [claim] = await outbox.claim({
        wanted: [{ endpoint: 'one', limit: 9 }],
        nowMs: 2_000,
        untilMs: 9_000,
      });
      await outbox.releaseAllClaims();
      return claim?.requests.map(({ id }) => id);
    };
    await holdOverdue(database, 'id-000001');
    expect(await claimed()).toEqual([]);
    await outbox.unblock();
    // The other one still waits for this one.
    expect(await claimed()).toEqual(['id-000001']);
  });

  outboxContract(`StoredOutbox on ${name}`, async () => {
    await using parts = new AsyncDisposableStack();
    const { url } = parts.use(await make());
    const database = parts.use(await openDatabase(url));
    // Several servers share a store on PostgreSQL only.
    const second = database.dialect === 'postgres' ? parts.use(await openDatabase(url)) : database;
    const opened = parts.move();
    return {
      outbox: new StoredOutbox(database),
      other: new StoredOutbox(second),
      log: new StoredOutboxLog(database),
      close: () => opened.disposeAsync(),
    };
  });
}

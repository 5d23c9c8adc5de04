import { openDatabase } from '../../src/stores/database.ts';
import { StoredOutbox } from '../../src/stores/outbox.ts';
import { StoredOutboxLog } from '../../src/stores/outbox-log.ts';
import { databases } from '../support/databases.ts';
import { outboxContract } from './outbox.contract.ts';

for (const { name, make } of databases) {
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

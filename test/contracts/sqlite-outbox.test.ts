import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '../../src/stores/database.ts';
import { StoredOutbox } from '../../src/stores/outbox.ts';
import { StoredOutboxLog } from '../../src/stores/outbox-log.ts';
import { outboxContract } from './outbox.contract.ts';

outboxContract('StoredOutbox in memory', async () => {
  const sql = await openDatabase('sqlite::memory:');
  return {
    outbox: new StoredOutbox(sql),
    log: new StoredOutboxLog(sql),
    close: () => sql.close(),
  };
});

outboxContract('StoredOutbox in an SQLite file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'fanfare-outbox-'));
  const sql = await openDatabase(`sqlite:${folder}/store.db`);
  return {
    outbox: new StoredOutbox(sql),
    log: new StoredOutboxLog(sql),
    close: async () => {
      await sql.close();
      await rm(folder, { recursive: true });
    },
  };
});

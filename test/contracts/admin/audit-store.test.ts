import { afterEach, beforeEach, describe, expect, it } from 'bun:test';
import { type AuditEntry, AuditStore } from '../../../src/stores/admin/audit-store.ts';
import { type Database, openDatabase } from '../../../src/stores/database/database.ts';
import { databases, type EmptyStore } from '../../../testing/databases/databases.ts';

const entry = (id: string, more: Partial<AuditEntry> = {}): AuditEntry => ({
  id,
  firstAtMs: 1_800_000_000_000,
  lastAtMs: 1_800_000_000_000,
  times: 1,
  user: 'Zoë',
  how: 'proxy',
  address: '2001:db8::1',
  operation: 'changeApp',
  subject: '7',
  detail: 'name, limits',
  status: 200,
  ...more,
});

for (const { name, make } of databases) {
  describe(`AuditStore on ${name}`, () => {
    let empty: EmptyStore;
    let database: Database;
    let store: AuditStore;
    beforeEach(async () => {
      empty = await make();
      database = await openDatabase(empty.url);
      store = new AuditStore(database);
    });
    afterEach(async () => {
      await database[Symbol.asyncDispose]();
      await empty[Symbol.asyncDispose]();
    });

    const ids = async (limit: number, before?: string) =>
      (await store.list({ limit, before })).map(({ id }) => id);

    it('lists the newest first, page by page', async () => {
      for (const id of ['a-1', 'a-3', 'a-2']) await store.add(entry(id));
      expect(await store.list({ limit: 1, before: undefined })).toEqual([entry('a-3')]);
      expect(await ids(9)).toEqual(['a-3', 'a-2', 'a-1']);
      expect(await ids(9, 'a-3')).toEqual(['a-2', 'a-1']);
    });

    it('counts an entry that it has once more', async () => {
      await store.add(entry('a'));
      await Promise.all([2, 3].map((ms) => store.add(entry('a', { lastAtMs: ms }))));
      expect(await store.list({ limit: 9, before: undefined })).toMatchObject([
        { firstAtMs: 1_800_000_000_000, times: 3 },
      ]);
    });

    it('keeps the given number of entries', async () => {
      for (const id of ['a', 'b', 'c', 'd']) await store.add(entry(id));
      await store.trim({ done: 4, refused: 0 });
      expect(await ids(9)).toEqual(['d', 'c', 'b', 'a']);
      await store.trim({ done: 2, refused: 0 });
      expect(await ids(9)).toEqual(['d', 'c']);
    });

    it('removes the oldest entries of the user with the most first', async () => {
      const of = (user: string, ...ids: string[]) =>
        Promise.all(ids.map((id) => store.add(entry(id, { user }))));
      await of('quiet', 'a-1', 'a-3');
      await of('busy', 'a-2', 'a-4', 'a-5', 'a-6', 'a-7');
      await store.trim({ done: 4, refused: 0 });
      expect(await ids(9)).toEqual(['a-7', 'a-6', 'a-3', 'a-1']);
    });

    it('has room of its own for what was refused', async () => {
      for (const id of ['a', 'b']) await store.add(entry(id));
      for (const id of ['c', 'd', 'e']) await store.add(entry(id, { status: 403 }));
      await store.trim({ done: 2, refused: 1 });
      expect(await ids(9)).toEqual(['e', 'b', 'a']);
    });
  });
}

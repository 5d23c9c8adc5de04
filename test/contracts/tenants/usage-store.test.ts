import { afterEach, beforeEach, describe, expect, it } from 'bun:test';
import { type Database, openDatabase } from '../../../src/stores/database/database.ts';
import { UsageStore } from '../../../src/stores/tenants/usage-store.ts';
import { databases, type EmptyStore } from '../../../testing/databases/databases.ts';

const used = (appId: string, day: string, messages: number, clientMessages = 0) => ({
  appId,
  day,
  messages,
  clientMessages,
});

for (const { name, make } of databases) {
  describe(`UsageStore on ${name}`, () => {
    let empty: EmptyStore;
    let database: Database;
    let store: UsageStore;
    beforeEach(async () => {
      empty = await make();
      database = await openDatabase(empty.url);
      store = new UsageStore(database);
    });
    afterEach(async () => {
      await database[Symbol.asyncDispose]();
      await empty[Symbol.asyncDispose]();
    });

    it('sums the messages of each app on each day', async () => {
      await store.add([used('a', '2026-01-01', 1, 1), used('b', '2026-01-01', 10)]);
      await store.add([used('a', '2026-01-01', 20, 5), used('a', '2026-01-02', 100)]);
      await store.add([]);
      expect((await store.ofDay('2026-01-01')).toSorted((x, y) => x.messages - y.messages)).toEqual(
        [used('b', '2026-01-01', 10), used('a', '2026-01-01', 21, 6)],
      );
      expect(await store.ofDay('2026-01-03')).toEqual([]);
    });

    it('loses no concurrent addition', async () => {
      await Promise.all(
        Array.from({ length: 50 }, (_, index) =>
          new UsageStore(database).add([
            used('a', '2026-01-01', 1),
            used(`app ${index % 3}`, '2026-01-01', 2),
          ]),
        ),
      );
      const all = await store.ofDay('2026-01-01');
      expect(all.find(({ appId }) => appId === 'a')?.messages).toBe(50);
      expect(all.reduce((sum, { messages }) => sum + messages, 0)).toBe(150);
    });

    it('counts beyond 32 bits', async () => {
      await store.add([used('a', '2026-01-01', 5_000_000_000)]);
      await store.add([used('a', '2026-01-01', 5_000_000_000)]);
      expect(await store.ofDay('2026-01-01')).toEqual([used('a', '2026-01-01', 10_000_000_000)]);
    });

    it('lists the newest days of an app first, up to a limit', async () => {
      for (const day of ['2025-12-31', '2026-01-02', '2026-01-01']) {
        await store.add([used('a', day, 1), used('b', day, 9)]);
      }
      expect((await store.ofApp('a', 2)).map(({ day }) => day)).toEqual([
        '2026-01-02',
        '2026-01-01',
      ]);
      expect(await store.ofApp('a', 9)).toHaveLength(3);
      expect(await store.ofApp('c', 9)).toEqual([]);
    });
  });
}

import { afterEach, beforeEach, describe, expect, it } from 'bun:test';
import { AppStore, type StoredApp } from '../../src/stores/app-store.ts';
import { type Database, openDatabase } from '../../src/stores/database.ts';
import { databases, type EmptyStore } from '../support/databases.ts';

const app = (id: string, more: Partial<StoredApp> = {}): StoredApp => ({
  id,
  name: `app ${id}`,
  enabled: true,
  keys: [{ key: `key-${id}`, secret: `secret-${id}` }],
  settings: { clientEvents: true, limits: { connections: 3 } },
  ...more,
});

for (const { name, make } of databases) {
  describe(`AppStore on ${name}`, () => {
    let empty: EmptyStore;
    let database: Database;
    let store: AppStore;
    beforeEach(async () => {
      empty = await make();
      database = await openDatabase(empty.url);
      store = new AppStore(database);
    });
    afterEach(async () => {
      await database[Symbol.asyncDispose]();
      await empty[Symbol.asyncDispose]();
    });

    it('keeps apps as they are, in the order in which they were made', async () => {
      const odd = app('1', {
        name: 'ä€𝄞 \u2028 \' " \\ $1',
        enabled: false,
        keys: [
          { key: 'z', secret: 'old' },
          { key: 'a', secret: 'new' },
        ],
        settings: { webhooks: [{ url: 'https://a.test/\u0000' }] },
      });
      await store.create(app('2'), 5);
      await store.create(odd, 7_000_000_000_000);
      await store.create(app('0'), 5);
      expect(await store.list()).toEqual([app('0'), app('2'), odd]);
      expect(await store.get('1')).toEqual(odd);
      expect(await store.get('3')).toBeUndefined();
    });

    it('raises its revision with each change, whoever makes it', async () => {
      const revisions = [await store.revision()];
      const changes: (() => Promise<unknown>)[] = [
        () => store.create(app('1'), 1),
        () => store.update('1', ({ settings }) => ({ name: 'other', enabled: true, settings })),
        () => store.addKey('1', { key: 'second', secret: 's' }),
        () => store.removeKey('1', 'key-1'),
        () => store.setEnabled('1', false),
        () => store.delete('1'),
      ];
      for (const change of changes) {
        await change();
        revisions.push(await store.revision());
      }
      expect(revisions).toEqual(revisions.map((_, index) => (revisions[0] ?? 0) + index));
    });

    it('takes neither an id nor a key twice, and then nothing at all', async () => {
      await store.create(app('1'), 1);
      await expect(store.create(app('1', { keys: [] }), 2)).rejects.toThrow();
      const sameKey = app('2', {
        keys: [
          { key: 'another', secret: 's' },
          { key: 'key-1', secret: 's' },
        ],
      });
      const revision = await store.revision();
      await expect(store.create(sameKey, 2)).rejects.toThrow();
      expect(await store.list()).toEqual([app('1')]);
      expect(await store.revision()).toBe(revision);
      await store.create(app('2', { keys: [{ key: 'another', secret: 's' }] }), 3);
    });

    it('makes a first app only where there is none', async () => {
      const made = await Promise.all(
        ['1', '2', '3'].map((id) => new AppStore(database).createFirst(app(id), 1)),
      );
      expect(made.filter((first) => first)).toHaveLength(1);
      expect(await store.list()).toHaveLength(1);
      expect(await store.createFirst(app('4'), 2)).toBe(false);
    });

    it('changes an app by what it is, one change after the other', async () => {
      await store.create(app('1', { settings: { n: 0 } }), 1);
      const counted = await Promise.all(
        Array.from({ length: 20 }, () =>
          store.update('1', ({ name: old, settings }) => ({
            name: old,
            enabled: false,
            settings: { n: Number(settings['n']) + 1 },
          })),
        ),
      );
      expect(counted).toEqual(Array.from({ length: 20 }, () => true));
      expect(await store.get('1')).toEqual(app('1', { enabled: false, settings: { n: 20 } }));
      expect(await store.update('2', (same) => same)).toBe(false);
    });

    it('adds a pair after the others, and takes away what is the app’s own', async () => {
      await store.create(app('1'), 1);
      await store.create(app('2'), 2);
      await store.addKey('1', { key: 'a', secret: 's' });
      await store.addKey('1', { key: 'Z', secret: 's' });
      const keys = async () => (await store.get('1'))?.keys.map(({ key }) => key);
      expect(await keys()).toEqual(['key-1', 'a', 'Z']);
      expect(await store.removeKey('1', 'key-1')).toBe(true);
      expect(await store.removeKey('1', 'key-2')).toBe(false);
      expect(await store.removeKey('1', 'key-1')).toBe(false);
      expect(await keys()).toEqual(['a', 'Z']);
    });

    it('says whether there was such an app, and deletes its keys with it', async () => {
      await store.create(app('1'), 1);
      expect(await store.setEnabled('1', false)).toBe(true);
      expect(await store.get('1')).toMatchObject({ enabled: false });
      expect(await store.setEnabled('2', false)).toBe(false);
      expect(await store.delete('2')).toBe(false);
      expect(await store.delete('1')).toBe(true);
      expect(await store.delete('1')).toBe(false);
      await store.create(app('3', { keys: app('1').keys }), 2);
      expect(await store.list()).toHaveLength(1);
    });
  });
}

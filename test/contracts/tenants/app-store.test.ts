import { afterEach, beforeEach, describe, expect, it } from 'bun:test';
import { type Database, openDatabase } from '../../../src/stores/database/database.ts';
import { AppStore, type StoredApp } from '../../../src/stores/tenants/app-store.ts';
import { StoredInstances } from '../../../src/stores/tenants/instance-store.ts';
import { UsageStore } from '../../../src/stores/tenants/usage-store.ts';
import { databases, type EmptyStore } from '../../../testing/databases/databases.ts';

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

    it('stores apps unchanged, in the order of creation', async () => {
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

    it('increases its revision with each change of any process', async () => {
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

    it('refuses an app with an existing id or key, and changes nothing', async () => {
      await store.create(app('1'), 1);
      expect(await store.create(app('1', { keys: [] }), 2)).toBe('id-taken');
      const sameKey = app('2', {
        keys: [
          { key: 'another', secret: 's' },
          { key: 'key-1', secret: 's' },
        ],
      });
      expect(await store.create(sameKey, 2)).toBe('key-taken');
      expect(await store.list()).toEqual([app('1')]);
      const free = app('2', { keys: [{ key: 'another', secret: 's' }] });
      expect(await store.create(free, 3)).toBe('created');
      await expect(store.addKey('2', { key: 'key-1', secret: 's' })).rejects.toThrow();
      expect(await store.get('2')).toEqual(free);
    });

    it('creates a first app only if there is none', async () => {
      const made = await Promise.all(
        ['1', '2', '3'].map((id) => new AppStore(database).createFirst(app(id), 1)),
      );
      expect(made.filter((first) => first)).toHaveLength(1);
      expect(await store.list()).toHaveLength(1);
      expect(await store.createFirst(app('4'), 2)).toBe(false);
    });

    it('applies concurrent changes of an app one after the other', async () => {
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

    it('adds a key after the others, and removes only keys of the app', async () => {
      await store.create(app('1'), 1);
      await store.create(app('2'), 2);
      await store.addKey('1', { key: 'a', secret: 's' });
      await store.addKey('1', { key: 'Z', secret: 's' });
      const keys = async () => (await store.get('1'))?.keys.map(({ key }) => key);
      expect(await keys()).toEqual(['key-1', 'a', 'Z']);
      expect(await store.removeKey('1', 'key-1')).toBe('removed');
      expect(await store.removeKey('1', 'key-2')).toBe('unknown');
      expect(await store.removeKey('1', 'key-1')).toBe('unknown');
      expect(await keys()).toEqual(['a', 'Z']);
    });

    it('never removes the last key, so that every app can be given another one', async () => {
      await store.create(app('1'), 1);
      expect(await store.removeKey('1', 'key-1')).toBe('last');
      expect(await store.get('1')).toEqual(app('1'));
      // Versions before this rule could leave an app without any.
      await store.create(app('2', { keys: [] }), 2);
      const pair = { key: 'first', secret: 's' };
      expect(await store.addKey('2', pair)).toBe(true);
      expect(await store.get('2')).toEqual(app('2', { keys: [pair] }));
    });

    it('adds no key to an unknown app', async () => {
      expect(await store.addKey('1', { key: 'a', secret: 's' })).toBe(false);
      expect(await store.list()).toEqual([]);
    });

    describe('when two processes change it at the same moment', () => {
      let otherDatabase: Database;
      let other: AppStore;
      beforeEach(async () => {
        otherDatabase = await openDatabase(empty.url);
        other = new AppStore(otherDatabase);
      });
      afterEach(() => otherDatabase[Symbol.asyncDispose]());

      it('keeps one of two keys that are both removed', async () => {
        for (let round = 0; round < 20; round++) {
          const id = `${round}`;
          const keys = ['a', 'b'].map((name) => ({ key: `${name}${round}`, secret: 's' }));
          await store.create(app(id, { keys }), round);
          const results = await Promise.all([
            store.removeKey(id, `a${round}`),
            other.removeKey(id, `b${round}`),
          ]);
          expect(results.toSorted()).toEqual(['last', 'removed']);
          expect((await store.get(id))?.keys).toHaveLength(1);
        }
      });

      it('keeps all keys that both add, in one order', async () => {
        await store.create(app('1'), 1);
        const added = Array.from({ length: 20 }, (_, n) => ({ key: `k${n}`, secret: 's' }));
        const results = await Promise.all(
          added.map((pair, n) => (n % 2 === 0 ? store : other).addKey('1', pair)),
        );
        expect(results).toEqual(added.map(() => true));
        const keys = (await store.get('1'))?.keys ?? [];
        expect(keys.slice(1).toSorted((a, b) => (a.key < b.key ? -1 : 1))).toEqual(
          added.toSorted((a, b) => (a.key < b.key ? -1 : 1)),
        );
        expect((await other.get('1'))?.keys).toEqual(keys);
      });

      it('deletes an app with the key that is being added', async () => {
        for (let round = 0; round < 20; round++) {
          const id = `${round}`;
          await store.create(app(id), round);
          const [, deleted] = await Promise.all([
            store.addKey(id, { key: `late${round}`, secret: 's' }),
            other.delete(id),
          ]);
          expect(deleted).toBe(true);
          expect(await store.get(id)).toBeUndefined();
          // The key is free again.
          const pair = { key: `late${round}`, secret: 's' };
          expect(await store.create(app(`again${round}`, { keys: [pair] }), 1)).toBe('created');
        }
      });

      it('creates one of two apps with the same id or key, and renames without losing settings', async () => {
        const both = await Promise.all([store.create(app('1'), 1), other.create(app('1'), 1)]);
        expect(both.toSorted()).toEqual(['created', 'id-taken']);
        const sameKey = [{ key: 'same', secret: 's' }];
        const keyed = await Promise.all([
          store.create(app('2', { keys: sameKey }), 1),
          other.create(app('3', { keys: sameKey }), 1),
        ]);
        expect(keyed.toSorted()).toEqual(['created', 'key-taken']);
        await Promise.all([
          store.update('1', (now) => ({ ...now, name: 'renamed' })),
          other.update('1', (now) => ({ ...now, settings: { clientEvents: false } })),
        ]);
        expect(await store.get('1')).toMatchObject({
          name: 'renamed',
          settings: { clientEvents: false },
        });
      });
    });

    it('deletes what names an app with it, also what an app of the configuration has left', async () => {
      const instances = new StoredInstances(database);
      const usage = new UsageStore(database);
      const linked = { id: 'i', name: '', secretKeys: ['s'], settings: { app: '1', limits: {} } };
      const leave = async () => {
        const instance = { ...linked, id: crypto.randomUUID() };
        await instances.create(instance, 1);
        await usage.add([{ appId: '1', day: '2026-11-28', messages: 3, clientMessages: 1 }]);
        return instance;
      };
      const other = { ...linked, id: crypto.randomUUID(), settings: { app: '2' } };
      await instances.create(other, 1);
      await store.create(app('1'), 1);
      const before = await instances.revision();
      for (const forget of [() => store.delete('1'), () => store.delete('1')]) {
        const left = await leave();
        expect(await forget()).toBe(true);
        expect(await usage.ofApp('1', 9)).toEqual([]);
        expect(await instances.get(left.id)).toMatchObject({ settings: { limits: {} } });
        expect((await instances.get(left.id))?.settings).not.toHaveProperty('app');
      }
      expect(await store.delete('1')).toBe(false);
      expect(await instances.revision()).toBeGreaterThan(before + 2);
      await leave();
      await store.create(app('1'), 2);
      expect(await usage.ofApp('1', 9)).toEqual([]);
      expect(await instances.get(other.id)).toEqual(other);
      expect(await store.incarnations()).toEqual(new Map([['1', 2]]));
    });

    it('returns whether the app existed, and deletes its keys with it', async () => {
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

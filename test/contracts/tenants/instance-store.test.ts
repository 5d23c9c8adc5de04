import { afterEach, beforeEach, describe, expect, it } from 'bun:test';
import { type Database, openDatabase } from '../../../src/stores/database/database.ts';
import {
  type StoredInstance,
  StoredInstances,
} from '../../../src/stores/tenants/instance-store.ts';
import { databases, type EmptyStore } from '../../../testing/databases/databases.ts';

const ID = '6f1b0f5e-6c1c-4c6c-9d8e-1f0e5a6f7b8c';

function instance(more: Partial<StoredInstance> = {}): StoredInstance {
  return {
    id: ID,
    name: 'shop',
    secretKeys: ['one', 'two'],
    settings: { limits: { devices: 5 } },
    ...more,
  };
}

describe.each(databases)('the instances in $name', ({ make }) => {
  let place: EmptyStore;
  let database: Database;
  let store: StoredInstances;
  beforeEach(async () => {
    place = await make();
    database = await openDatabase(place.url);
    store = new StoredInstances(database);
  });
  afterEach(async () => {
    await database[Symbol.asyncDispose]();
    await place[Symbol.asyncDispose]();
  });

  it('are listed in the order of creation, with their keys in that order', async () => {
    const later = instance({ id: '00000000-6c1c-4c6c-9d8e-1f0e5a6f7b8c', secretKeys: ['b', 'a'] });
    await store.create(instance({ secretKeys: ['z', 'y', 'x'] }), 1);
    await store.create(later, 2);
    expect(await store.list()).toEqual([instance({ secretKeys: ['z', 'y', 'x'] }), later]);
    expect(await store.get(later.id)).toEqual(later);
    expect(await store.get('nothing')).toBeUndefined();
  });

  it('are created once, completely or not at all', async () => {
    await store.create(instance(), 1);
    expect(await store.create(instance({ secretKeys: ['three'] }), 2)).toBe(false);
    const other = instance({ id: crypto.randomUUID(), secretKeys: ['same', 'same'] });
    await expect(store.create(other, 2)).rejects.toThrow();
    expect(await store.list()).toEqual([instance()]);
  });

  it('have a first one only if there is none', async () => {
    const ids = ['1', '2', '3'].map((digit) => ID.replaceAll('6', digit));
    const made = await Promise.all(
      ids.map((id) => new StoredInstances(database).createFirst(instance({ id }), 1)),
    );
    expect(made.filter((first) => first)).toHaveLength(1);
    expect(await store.list()).toHaveLength(1);
    expect(await store.createFirst(instance(), 2)).toBe(false);
  });

  it('are changed based on their current values', async () => {
    await store.create(instance(), 1);
    const changed = await store.update(ID, ({ name, settings }) => ({
      name: `${name}!`,
      settings: { ...settings, whenUserIsFull: 'replace-oldest' },
    }));
    expect(changed).toBe(true);
    expect(await store.get(ID)).toEqual(
      instance({
        name: 'shop!',
        settings: { limits: { devices: 5 }, whenUserIsFull: 'replace-oldest' },
      }),
    );
    expect(await store.update('nothing', (as) => as)).toBe(false);
  });

  it('stay unchanged if the change throws', async () => {
    await store.create(instance(), 1);
    const refused = store.update(ID, () => {
      throw new Error('no');
    });
    await expect(refused).rejects.toThrow('no');
    expect(await store.list()).toEqual([instance()]);
  });

  it('get and lose secret keys; two may have the same', async () => {
    const other = instance({ id: crypto.randomUUID() });
    await store.create(instance(), 1);
    await store.create(other, 2);
    await store.addKey(ID, 'three');
    expect(await store.removeKey(ID, 'one')).toBe('removed');
    expect(await store.removeKey(ID, 'one')).toBe('unknown');
    expect(await store.removeKey('nothing', 'two')).toBe('unknown');
    expect(await store.get(ID)).toEqual(instance({ secretKeys: ['two', 'three'] }));
    expect(await store.get(other.id)).toEqual(other);
    await expect(store.addKey(ID, 'two')).rejects.toThrow();
    expect(await store.addKey('nothing', 'x')).toBe(false);
  });

  it('keep all keys that are added concurrently', async () => {
    await store.create(instance(), 1);
    const added = Array.from({ length: 30 }, (_, index) => `key-${index}`);
    await Promise.all(added.map((key) => store.addKey(ID, key)));
    const { secretKeys } = (await store.get(ID)) ?? instance();
    expect(secretKeys.slice(0, 2)).toEqual(['one', 'two']);
    expect(secretKeys.slice(2).toSorted()).toEqual(added.toSorted());
  });

  it('keep the last of their keys, even if two are removed concurrently', async () => {
    await store.create(instance(), 1);
    const results = await Promise.all([store.removeKey(ID, 'one'), store.removeKey(ID, 'two')]);
    expect(results.toSorted()).toEqual(['last', 'removed']);
    expect((await store.get(ID))?.secretKeys).toHaveLength(1);
  });

  it('have a constant number each', async () => {
    await using second = await openDatabase(place.url);
    const numbers = await Promise.all(
      [store, new StoredInstances(second), store].map((one) => one.numberOf(ID)),
    );
    expect(new Set(numbers).size).toBe(1);
    expect(await store.numberOf(ID)).toBe(numbers[0] as number);
    expect(await store.numberOf(crypto.randomUUID())).not.toBe(numbers[0] as number);
    // Those of the configuration have one without being in the store.
    expect(await store.list()).toEqual([]);
  });

  it('are gone once deleted, and their number is never reused', async () => {
    const other = instance({ id: crypto.randomUUID() });
    await store.create(instance(), 1);
    await store.create(other, 2);
    const number = await store.numberOf(ID);
    await database.write(
      (sql) => sql`
      UPDATE instance_numbers SET devices = 12 WHERE number = ${number}`,
    );
    expect(await store.delete(ID)).toBe(12);
    expect(await store.list()).toEqual([other]);
    expect(await store.delete(ID)).toBeUndefined();
    const [row] = await database.read`SELECT id FROM instance_numbers WHERE number = ${number}`;
    expect(row.id).toBeNull();
    const [{ left }] = await database.read`
      SELECT COUNT(*) AS left FROM instance_keys WHERE instance_id = ${ID}`;
    expect(Number(left)).toBe(0);

    await store.create(instance(), 3);
    expect(await store.numberOf(ID)).not.toBe(number);
  });

  it('can be deleted before they have a number, or if they have only a number', async () => {
    await store.create(instance(), 1);
    expect(await store.delete(ID)).toBe(0);
    const fromConfiguration = crypto.randomUUID();
    await store.numberOf(fromConfiguration);
    expect(await store.delete(fromConfiguration)).toBe(0);
  });

  it('increase the revision with each change, for every process', async () => {
    await using second = await openDatabase(place.url);
    const elsewhere = new StoredInstances(second);
    const seen: number[] = [await elsewhere.revision()];
    for (const change of [
      () => store.create(instance(), 1),
      () => store.update(ID, (as) => as),
      () => store.addKey(ID, 'three'),
      () => store.removeKey(ID, 'one'),
      () => store.delete(ID),
    ]) {
      await change();
      seen.push(await elsewhere.revision());
    }
    expect(seen).toEqual(seen.toSorted((a, b) => a - b));
    expect(new Set(seen).size).toBe(6);
    await store.numberOf(ID);
    await store.list();
    expect(await elsewhere.revision()).toBe(seen.at(-1) as number);
  });
});

import { describe, expect, it } from 'bun:test';
import type { App } from '../channels/app.ts';
import type { InstanceSettings } from '../config/schema.ts';
import { appSettings } from '../config/settings/channels-settings.ts';
import { instanceSettings } from '../config/settings/push-settings.ts';
import { readInstanceId } from '../push/model/instance-id.ts';
import { openDatabase } from '../stores/database/database.ts';
import { AppStore } from '../stores/tenants/app-store.ts';
import { StoredInstances } from '../stores/tenants/instance-store.ts';
import { AppAdmin } from './manage-apps.ts';
import { InstanceAdmin } from './manage-instances.ts';
import { newInstanceId } from './new-credentials.ts';

const CONFIGURED = readInstanceId(newInstanceId());

/** What manages apps and instances in an empty store, beside a configuration that may have one of each. */
async function open() {
  const database = await openDatabase('sqlite::memory:');
  const configured: { apps: App[]; instances: InstanceSettings[] } = { apps: [], instances: [] };
  let changes = 0;
  const changed = async () => {
    changes += 1;
  };
  return {
    apps: new AppAdmin({
      store: new AppStore(database),
      configured: () => configured.apps,
      changed,
      isStoreOwn: false,
    }),
    instances: new InstanceAdmin({
      store: new StoredInstances(database),
      configured: () => configured.instances,
      changed,
      isStoreOwn: false,
    }),
    store: new StoredInstances(database),
    changes: () => changes,
    /** Stores settings as a later version does. */
    sql: (table: 'apps' | 'instances', settings: object) =>
      database.write((sql) => sql`UPDATE ${sql(table)} SET settings = ${JSON.stringify(settings)}`),
    configure() {
      configured.apps = [
        appSettings.parse({ id: CONFIGURED, keys: [{ key: 'configured', secret: 's' }] }),
      ];
      configured.instances = [instanceSettings.parse({ id: CONFIGURED, secretKeys: ['s'] })];
    },
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}

describe.each(['apps', 'instances'] as const)('managing %s', (kind) => {
  it('adds keys up to the limit', async () => {
    await using all = await open();
    const id = readInstanceId(await all[kind].create({ settings: {} }));
    for (let keys = 1; keys < 20; keys++) await all[kind].addKey(id);
    await expect(all[kind].addKey(id)).rejects.toMatchObject({ status: 409 });
  });

  it('never removes the last key', async () => {
    await using all = await open();
    const id = readInstanceId(await all[kind].create({ settings: {} }));
    const stored = await all[kind].stored(id);
    const key = 'keys' in stored ? (stored.keys[0]?.key ?? '') : (stored.secretKeys[0] ?? '');
    await expect(all[kind].removeKey(id, key)).rejects.toMatchObject({ status: 409 });
    await all[kind].addKey(id);
    await all[kind].removeKey(id, key);
    await expect(all[kind].removeKey(id, key)).rejects.toMatchObject({ status: 404 });
  });

  it('creates nothing with an id that exists', async () => {
    await using all = await open();
    all.configure();
    const id = readInstanceId(await all[kind].create({ settings: {} }));
    for (const taken of [id, CONFIGURED]) {
      await expect(all[kind].create({ id: taken, settings: {} })).rejects.toMatchObject({
        status: 409,
        field: 'id',
      });
    }
  });

  it('does not change a tenant of the configuration', async () => {
    await using all = await open();
    all.configure();
    const admin = all[kind];
    for (const change of [
      () => admin.update(CONFIGURED, { name: 'x', settings: {} }),
      () => admin.addKey(CONFIGURED),
      () => admin.removeKey(CONFIGURED, 'configured'),
      () => admin.delete(CONFIGURED),
    ]) {
      await expect(change()).rejects.toMatchObject({ status: 409 });
    }
    expect(await admin.get(CONFIGURED)).toMatchObject({ source: 'configuration' });
  });

  it('reports each change of the store, and only those', async () => {
    await using all = await open();
    const id = readInstanceId(await all[kind].create({ settings: {} }));
    await all[kind].update(id, { name: 'x', settings: {} });
    await all[kind].delete(id);
    expect(all.changes()).toBe(3);
    await all[kind].delete(id).catch(() => undefined);
    expect(all.changes()).toBe(3);
    await expect(all[kind].get(id)).rejects.toMatchObject({ status: 404 });
  });

  it('keeps settings of a later version in the store, whatever else is changed', async () => {
    await using all = await open();
    const id = await all[kind].create({ settings: {} });
    const settings = { limits: { rooms: 3 }, rooms: ['a'] };
    await all.sql(kind, settings);
    const change = { name: 'changed', settings: { webhooks: [] } };
    await all[kind].update(readInstanceId(id), change);
    expect(await all[kind].stored(readInstanceId(id))).toMatchObject({
      name: 'changed',
      settings: { ...settings, webhooks: [] },
    });
    const { tenant } = await all[kind].get(readInstanceId(id));
    expect(tenant).toMatchObject({ name: 'changed' });
    expect(tenant).not.toHaveProperty('rooms');
  });
});

it('deletes an instance that was removed from the configuration, with its number', async () => {
  await using all = await open();
  await all.store.numberOf(CONFIGURED);
  expect(await all.instances.delete(CONFIGURED)).toBe(0);
  expect(await all.store.findNumber(CONFIGURED)).toBeUndefined();
});

it('refuses a key that an app of the configuration has', async () => {
  await using all = await open();
  all.configure();
  const keys = [{ key: 'configured', secret: 'other' }];
  await expect(all.apps.create({ keys, settings: {} })).rejects.toMatchObject({ field: 'keys' });
});

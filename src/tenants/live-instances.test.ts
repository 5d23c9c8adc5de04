import { describe, expect, it } from 'bun:test';
import { DEFAULT_LIMITS } from '../../testing/push-limits.ts';
import { loadJson } from '../config/loading.fixture.ts';
import type { Config } from '../config/schema.ts';
import { openDatabase } from '../stores/database/database.ts';
import { StoredInstances } from '../stores/tenants/instance-store.ts';
import { createFirstInstance } from './first-start.ts';
import { newInstance } from './instance-credentials.ts';
import { LiveInstances } from './live-instances.ts';

/** A configuration with these settings of push. */
function configOf(push: object): Config {
  const loaded = loadJson({ push });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  return loaded.config;
}

/** What serves the instances of a configuration and of a store in memory, and what it has logged. */
async function serving(config: Config) {
  const database = await openDatabase('sqlite::memory:');
  const store = new StoredInstances(database);
  const logged: string[] = [];
  const faults: unknown[] = [];
  const line = (message: string, fields?: object) =>
    void logged.push(`${message} ${JSON.stringify(fields)}`);
  const served = new LiveInstances({
    store,
    config,
    log: { debug: line, info: line, warn: line, error: line },
    storeState(fault) {
      faults.push(fault);
      return true;
    },
  });
  return {
    store,
    served,
    logged,
    faults,
    async [Symbol.asyncDispose]() {
      await served[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}

const CONFIGURED = '6f1b0f5e-6c1c-4c6c-9d8e-1f0e5a6f7b8c';
const configured = { id: CONFIGURED.toUpperCase(), name: 'configured', secretKeys: ['s'] };

describe('the instances that are served', () => {
  it('are those of the configuration and of the store, with every default', async () => {
    await using all = await serving(configOf({ instances: [configured] }));
    const stored = newInstance('stored');
    await all.store.create(stored, 1);
    const begun = await all.served.begin();
    expect(begun.map(({ instance }) => instance.name)).toEqual(['configured', 'stored']);
    expect(all.served.directory.byId(CONFIGURED.toUpperCase())).toEqual({
      id: CONFIGURED,
      number: await all.store.numberOf(CONFIGURED),
      name: 'configured',
      secretKeys: ['s'],
      limits: DEFAULT_LIMITS,
      whenUserIsFull: 'refuse',
      web: undefined,
      webhooks: [],
    });
    expect(all.served.directory.byId(stored.id)).toMatchObject({
      secretKeys: stored.secretKeys,
      web: {
        vapidPublicKey: stored.settings.web.vapid.publicKey,
        allowedHosts: expect.arrayContaining(['fcm.googleapis.com']),
        allowPrivateAddresses: false,
      },
    });
    // What goes by the instance is handed to the other loop.
    expect(JSON.stringify(begun.map(({ instance }) => instance))).not.toContain(
      stored.settings.web.vapid.privateKey,
    );
    expect(all.served.directory.byId('nothing')).toBeUndefined();
  });

  it('change with the store, and keep their numbers', async () => {
    await using all = await serving(configOf({ instances: [configured] }));
    await all.served.begin();
    const number = all.served.directory.byId(CONFIGURED)?.number;
    const stored = newInstance('stored');
    await all.store.create(stored, 1);
    await all.served.look();
    expect(all.served.directory.byId(stored.id)?.name).toBe('stored');
    expect(all.logged).toEqual([`Instances changed {"instances":2,"created":"${stored.id}"}`]);

    await all.store.addKey(stored.id, 'another');
    await all.served.look();
    expect(all.served.directory.byId(stored.id)?.secretKeys).toEqual([
      ...stored.secretKeys,
      'another',
    ]);
    await all.store.delete(stored.id);
    await all.served.look();
    expect(all.served.directory.byId(stored.id)).toBeUndefined();
    expect(all.served.directory.byId(CONFIGURED)?.number).toBe(number as number);
  });

  it('change with the configuration', async () => {
    await using all = await serving(configOf({ instances: [] }));
    expect(await all.served.begin()).toEqual([]);
    await all.served.reconfigure(configOf({ instances: [configured] }));
    expect(all.served.directory.byId(CONFIGURED)?.name).toBe('configured');
    await all.served.reconfigure(configOf({}));
    expect(all.served.directory.byId(CONFIGURED)).toBeUndefined();
  });

  it('are not those of the store that the configuration names, nor those that make no sense', async () => {
    await using all = await serving(configOf({ instances: [configured] }));
    const sensible = newInstance('sensible');
    await all.store.create({ ...newInstance('other'), id: CONFIGURED }, 1);
    await all.store.create({ ...newInstance('keyless'), secretKeys: [] }, 2);
    await all.store.create({ ...newInstance('strange'), settings: { web: { vapid: 5 } } }, 3);
    await all.store.create(sensible, 4);
    expect((await all.served.begin()).map(({ instance }) => instance.name)).toEqual([
      'configured',
      'sensible',
    ]);
    expect(all.logged.map((line) => /"why":"([^"]+)/.exec(line)?.[1])).toEqual([
      'the configuration has an instance with its id',
      'secretKeys: must have at least one entry',
      'web.vapid: must be an object, got a number',
    ]);
    expect(all.logged.join()).not.toContain(sensible.secretKeys[0] as string);
  });

  it('stay as they are while the store cannot be read', async () => {
    await using all = await serving(configOf({}));
    const stored = newInstance('stored');
    await all.store.create(stored, 1);
    await all.served.begin();
    const revision = all.store.revision.bind(all.store);
    const fault = new Error('locked');
    all.store.revision = () => Promise.reject(fault);
    await all.served.look();
    expect(all.served.directory.byId(stored.id)).toBeDefined();
    all.store.revision = revision;
    await all.served.look();
    expect(all.faults).toEqual([fault, undefined]);
  });
});

describe('the first start', () => {
  it('makes one instance where there is none', async () => {
    await using all = await serving(configOf({}));
    const id = await createFirstInstance(all.store, configOf({}));
    expect(await all.served.begin()).toMatchObject([{ instance: { id, name: 'default' } }]);
    expect(await createFirstInstance(all.store, configOf({}))).toBeUndefined();
  });

  it('makes none where the configuration names them, be it none', async () => {
    await using all = await serving(configOf({ instances: [] }));
    expect(await createFirstInstance(all.store, configOf({ instances: [] }))).toBeUndefined();
    expect(await all.store.list()).toEqual([]);
  });
});

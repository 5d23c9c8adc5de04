import { describe, expect, it } from 'bun:test';
import { DEFAULT_LIMITS } from '../../testing/push-limits.ts';
import { loadJson } from '../config/loading.fixture.ts';
import type { Config } from '../config/schema.ts';
import { KeyUses } from '../runtime/keys/key-uses.ts';
import { openDatabase } from '../stores/database/database.ts';
import { type StoredInstance, StoredInstances } from '../stores/tenants/instance-store.ts';
import { createFirstInstance } from './first-start.ts';
import { openLiveInstances } from './live-tenants.ts';
import { newInstance } from './new-credentials.ts';

/** A configuration with these settings of push. */
function configOf(push: object): Config {
  const loaded = loadJson({ push });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  return loaded.config;
}

/** The live instances of a configuration and of a store in memory that holds `stored`, and what they log. */
async function open(config: Config, stored: readonly StoredInstance[] = []) {
  const database = await openDatabase('sqlite::memory:');
  const store = new StoredInstances(database);
  for (const [at, instance] of stored.entries()) await store.create(instance, at);
  const logged: string[] = [];
  const faults: unknown[] = [];
  const line = (message: string, fields?: object) =>
    void logged.push(`${message} ${JSON.stringify(fields)}`);
  const live = await openLiveInstances({
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
    live,
    logged,
    faults,
    async [Symbol.asyncDispose]() {
      await live[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}

const CONFIGURED = '6f1b0f5e-6c1c-4c6c-9d8e-1f0e5a6f7b8c';
const configured = { id: CONFIGURED.toUpperCase(), name: 'configured', secretKeys: ['s'] };

describe('the live instances', () => {
  it('are those of the configuration and of the store, with every default', async () => {
    const stored = newInstance('stored');
    await using all = await open(configOf({ instances: [configured] }), [stored]);
    expect(all.live.all.map(({ instance }) => instance.name)).toEqual(['configured', 'stored']);
    expect(all.live.directory.byId(CONFIGURED.toUpperCase())).toEqual({
      id: CONFIGURED,
      number: await all.store.numberOf(CONFIGURED),
      name: 'configured',
      secretKeys: ['s'],
      keyUses: expect.any(KeyUses),
      limits: DEFAULT_LIMITS,
      whenUserIsFull: 'refuse',
      timeZone: 'UTC',
      web: undefined,
      webhooks: [],
    });
    expect(all.live.directory.byId(stored.id)).toMatchObject({
      secretKeys: stored.secretKeys,
      web: {
        vapidPublicKey: stored.settings.web.vapid.publicKey,
        allowedHosts: expect.arrayContaining(['fcm.googleapis.com']),
        allowPrivateAddresses: false,
      },
    });
    // The other loop gets `instance`, which must not hold private keys.
    expect(JSON.stringify(all.live.all.map(({ instance }) => instance))).not.toContain(
      stored.settings.web.vapid.privateKey,
    );
    expect(all.live.directory.byId('nothing')).toBeUndefined();
  });

  it('follow the store, and keep their numbers', async () => {
    await using all = await open(configOf({ instances: [configured] }));
    const reported: unknown[] = [];
    all.live.follow((live, { ids, deleted }) => void reported.push([live.length, ids, deleted]));
    const number = all.live.directory.byId(CONFIGURED)?.number;
    const stored = newInstance('stored');
    await all.store.create(stored, 1);
    await all.live.poll();
    expect(all.live.directory.byId(stored.id)?.name).toBe('stored');
    expect(reported).toEqual([[2, { created: stored.id }, []]]);

    await all.store.addKey(stored.id, 'another');
    await all.live.poll();
    expect(all.live.directory.byId(stored.id)?.secretKeys).toEqual([
      ...stored.secretKeys,
      'another',
    ]);
    await all.store.delete(stored.id);
    await all.live.poll();
    expect(all.live.directory.byId(stored.id)).toBeUndefined();
    expect(all.live.directory.byId(CONFIGURED)?.number).toBe(number as number);
    expect(reported.slice(1)).toEqual([
      [2, { changed: stored.id }, []],
      [1, { deleted: stored.id }, [stored.id]],
    ]);
  });

  it('are served without settings of a later version, which are logged when they appear', async () => {
    const of = (settings: StoredInstance['settings']) => ({ ...newInstance('stored'), settings });
    const stored = of({ rooms: 1, limits: { rooms: 2 } });
    await using all = await open(configOf({}), [stored]);
    expect(all.live.unknownSettings).toEqual([
      { id: stored.id, settings: ['limits.rooms', 'rooms'] },
    ]);
    all.live.follow(() => undefined);
    await all.store.create(of({}), 1);
    await all.live.poll();
    const second = of({ halls: 1 });
    await all.store.create(second, 2);
    await all.live.poll();
    expect(all.live.all).toHaveLength(3);
    const line = 'Stored instance has settings of a later version, which are not applied';
    expect(all.logged.filter((one) => one.startsWith(line))).toEqual([
      `${line} ${JSON.stringify({ instance: stored.id, settings: 'limits.rooms, rooms' })}`,
      `${line} ${JSON.stringify({ instance: second.id, settings: 'halls' })}`,
    ]);
  });

  it('report a change again, with its ids, after it could not be taken over', async () => {
    await using all = await open(configOf({}));
    const reported: unknown[] = [];
    let fails = true;
    all.live.follow((_, { ids }) => {
      if (fails) throw new Error('not now');
      reported.push(ids);
    });
    const stored = newInstance('stored');
    await all.store.create(stored, 1);
    await all.live.poll();
    fails = false;
    await all.live.poll();
    expect(reported).toEqual([{ created: stored.id }]);
  });

  it('report as deleted one whose id another one has at the next look', async () => {
    await using all = await open(configOf({ instances: [configured] }));
    const stored = newInstance('stored');
    await all.store.create(stored, 1);
    await all.live.poll();
    const number = all.live.directory.byId(stored.id)?.number;
    const deleted: string[] = [];
    all.live.follow((_, change) => void deleted.push(...change.deleted));
    await all.store.delete(stored.id);
    await all.store.create(stored, 2);
    await all.live.poll();
    expect(deleted).toEqual([stored.id]);
    expect(all.live.directory.byId(stored.id)?.number).not.toBe(number);
    await all.live.poll();
    expect(deleted).toHaveLength(1);
  });

  it('follow the configuration', async () => {
    await using all = await open(configOf({ instances: [] }));
    expect(all.live.all).toEqual([]);
    await all.live.reconfigure(configOf({ instances: [configured] }));
    expect(all.live.directory.byId(CONFIGURED)?.name).toBe('configured');
    await all.live.reconfigure(configOf({}));
    expect(all.live.directory.byId(CONFIGURED)).toBeUndefined();
  });

  it('leave out stored instances that are configured as well, or whose settings are invalid', async () => {
    const valid = newInstance('valid');
    await using all = await open(configOf({ instances: [configured] }), [
      { ...newInstance('other'), id: CONFIGURED },
      { ...newInstance('keyless'), secretKeys: [] },
      { ...newInstance('strange'), settings: { web: { vapid: 5 } } } as StoredInstance,
      valid,
    ]);
    expect(all.live.all.map(({ instance }) => instance.name)).toEqual(['configured', 'valid']);
    expect(all.logged.map((line) => /"why":"([^"]+)/.exec(line)?.[1])).toEqual([
      'the configuration has an instance with its id',
      'secretKeys: must have at least one entry',
      'web.vapid: must be an object, got a number',
    ]);
    expect(all.logged.join()).not.toContain(valid.secretKeys[0] as string);
  });

  it('stay as they are while the store cannot be read', async () => {
    const stored = newInstance('stored');
    await using all = await open(configOf({}), [stored]);
    const revision = all.store.revision.bind(all.store);
    const fault = new Error('locked');
    all.store.revision = () => Promise.reject(fault);
    await all.live.poll();
    expect(all.live.directory.byId(stored.id)).toBeDefined();
    all.store.revision = revision;
    await all.live.poll();
    expect(all.faults).toEqual([fault, undefined]);
  });
});

describe('the first start', () => {
  it('creates one instance for the users of the first app if there is none', async () => {
    await using all = await open(configOf({}));
    const id = await createFirstInstance(all.store, configOf({}), '1');
    await all.live.poll();
    expect(all.live.all).toMatchObject([{ instance: { id, name: 'default', appId: '1' } }]);
    expect(await createFirstInstance(all.store, configOf({}), '1')).toBeUndefined();
  });

  it('creates none if the configuration lists instances, even an empty list', async () => {
    await using all = await open(configOf({ instances: [] }));
    expect(await createFirstInstance(all.store, configOf({ instances: [] }), '1')).toBeUndefined();
    expect(await all.store.list()).toEqual([]);
  });
});

import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import type { DeviceStore } from '../../../src/push/device-store.ts';
import type { DeviceId } from '../../../src/push/model/device.ts';
import { StoreLost } from '../../../src/push/store-faults.ts';
import { type Database, openDatabase } from '../../../src/stores/database/database.ts';
import { StoredAudience } from '../../../src/stores/push/devices/audience-source.ts';
import { StoredDevices } from '../../../src/stores/push/devices/device-store.ts';
import { readCounts } from '../../../src/stores/push/devices/instance-counts.ts';
import { StoredPreferences } from '../../../src/stores/push/devices/preferences.ts';
import { GarbageCollector } from '../../../src/stores/push/garbage-collector.ts';
import { databases } from '../../../testing/databases/databases.ts';
import { migratedPostgres } from '../../../testing/databases/postgres.ts';
import { acceptDevice, makeInstance } from '../../../testing/databases/push-instance.ts';
import { testSeed } from '../../../testing/long-run.ts';
import {
  MemoryAudience,
  MemoryDevices,
  MemoryPreferences,
} from '../../../testing/memory-stores/devices.ts';
import { audienceSourceContract, type OpenAudience } from './audience-source.contract.ts';
import {
  deviceStoreContract,
  NOW_MS,
  newDevice,
  type OpenDeviceStore,
} from './device-store.contract.ts';
import { type OpenPreferences, preferencesContract } from './preferences.contract.ts';
import { openDatabases } from './stores.ts';

fc.configureGlobal({ seed: testSeed() });

type Opened = OpenDeviceStore &
  OpenAudience &
  OpenPreferences & {
    /** Deletes the interests of removed devices. */
    sweep(): Promise<void>;
  };

async function openInMemory(): Promise<Opened> {
  const devices = new MemoryDevices();
  return {
    store: devices,
    other: devices,
    devices,
    audience: new MemoryAudience(devices),
    preferences: new MemoryPreferences(devices),
    newInstance: async () => devices.newInstance(),
    counts: async (instance) => devices.counts(instance),
    async accept(instance, id, token) {
      const device = devices.of(instance).find(({ registered }) => registered.id === id);
      if (device !== undefined) devices.accept(device.number, token, NOW_MS);
    },
    lose: async (instance) => devices.lose(instance),
    async sweep() {
      // Nothing is left of them.
    },
    async [Symbol.asyncDispose]() {
      // Nothing is open.
    },
  };
}

deviceStoreContract('MemoryDevices', openInMemory);
audienceSourceContract('MemoryAudience', openInMemory);
preferencesContract('MemoryPreferences', openInMemory);

for (const { name, make } of databases) {
  const open = async (): Promise<Opened> => {
    const opened = await openDatabases(make);
    const { database, second } = opened;
    const devices = new StoredDevices(database);
    const garbage = new GarbageCollector(database);
    return {
      store: devices,
      other: new StoredDevices(second),
      devices,
      audience: new StoredAudience(database),
      preferences: new StoredPreferences(database),
      newInstance: () => makeInstance(database),
      counts: (instance) => readCounts(database.read, instance),
      accept: (instance, id, token) => acceptDevice(database, instance, id, token),
      lose: (instance) => loseInstance(database, instance),
      async sweep() {
        while (await garbage.collectSome(NOW_MS));
      },
      [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
    };
  };

  deviceStoreContract(`StoredDevices in ${name}`, open);
  audienceSourceContract(`StoredAudience in ${name}`, open);
  preferencesContract(`StoredPreferences in ${name}`, open);

  describe(`StoredDevices in ${name}`, () => {
    it('behave like devices in memory', async () => {
      await using opened = await open();
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
          const [instance, memory] = [await opened.newInstance(), new MemoryDevices()];
          const model = memory.newInstance();
          const ids: DeviceId[] = [];
          for (const [index, one] of steps.entries()) {
            const device = registering(one);
            const nowMs = NOW_MS + index;
            if (one.what === 'accept') {
              await acceptBoth(opened, instance, memory, model, ids.at(-1 - one.device), one);
              continue;
            }
            const wanted = await take(memory, model, one, device, ids, nowMs);
            expect(await take(opened.store, instance, one, device, ids, nowMs)).toEqual(wanted);
            if (one.what === 'register') ids.push(device.id);
          }
          for (const id of ids) {
            expect(await opened.store.get({ instance, id })).toEqual(
              await memory.get({ instance: model, id }),
            );
            expect(await opened.store.interests({ instance, id, after: '', limit: 99 })).toEqual(
              await memory.interests({ instance: model, id, after: '', limit: 99 }),
            );
          }
          await opened.sweep();
          expect(await opened.counts(instance)).toEqual(memory.counts(model));
        }),
        { numRuns: 25 },
      );
    });

    it('do not fail a change that shares a commit with one for a lost instance', async () => {
      await using opened = await open();
      const [instance, lostOne] = [await opened.newInstance(), await opened.newInstance()];
      await opened.lose(lostOne);
      const device = newDevice();
      const results = await Promise.allSettled([
        opened.store.register({ instance: lostOne, device: newDevice(), nowMs: NOW_MS }),
        opened.store.register({ instance, device, nowMs: NOW_MS }),
        opened.store.setInterests({ instance: lostOne, id: device.id, interests: ['a'] }),
      ]);
      expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected']);
      expect(await opened.store.get({ instance, id: device.id })).toMatchObject({ id: device.id });
    });
  });
}

describe('StoredDevices in PostgreSQL', () => {
  it('keep no device of an instance whose last rows are being collected', async () => {
    await using place = await migratedPostgres();
    await using here = await openDatabase(place.url);
    await using there = await openDatabase(place.url);
    const instance = await makeInstance(here);
    const device = newDevice();

    const { registering } = await there.write(async (sql) => {
      await sql`DELETE FROM instance_numbers WHERE number = ${instance}`;
      // It still sees the instance, and waits for the lock to count the device.
      const registering = new StoredDevices(here)
        .register({ instance, device, nowMs: NOW_MS })
        .catch((error: unknown) => error);
      await someoneWaits(here);
      return { registering };
    });

    expect(await registering).toBeInstanceOf(StoreLost);
    expect(await here.read`SELECT number FROM devices`).toHaveLength(0);
  });

  it('add no interest to a device that is deleted meanwhile', async () => {
    await using place = await migratedPostgres();
    await using here = await openDatabase(place.url);
    await using there = await openDatabase(place.url);
    const [instance, device] = [await makeInstance(here), newDevice()];
    const devices = new StoredDevices(here);
    await devices.register({ instance, device, nowMs: NOW_MS });

    const { adding } = await there.write(async (sql) => {
      await sql`DELETE FROM devices WHERE id = ${device.id}`;
      const adding = devices.addInterest({ instance, id: device.id, interest: 'news', max: 5000 });
      await someoneWaits(here);
      return { adding };
    });

    expect(await adding).toBe('no-device');
    expect(await here.read`SELECT device FROM device_interests`).toHaveLength(0);
  });

  it('do not wait for each other to add interests to one device', async () => {
    await using place = await migratedPostgres();
    await using here = await openDatabase(place.url);
    await using there = await openDatabase(place.url);
    const [instance, device] = [await makeInstance(here), newDevice()];
    const devices = new StoredDevices(here);
    await devices.register({ instance, device, nowMs: NOW_MS });
    await devices.addInterest({ instance, id: device.id, interest: 'a', max: 5000 });

    await there.write(async (sql) => {
      // A commit locks many devices.
      const [held] = await sql`
        SELECT number FROM devices WHERE id = ${device.id} FOR KEY SHARE`;
      await sql`INSERT INTO device_interests (instance, interest, device)
        VALUES (${instance}, 'b', ${held.number})`;
      expect(await devices.addInterest({ instance, id: device.id, interest: 'c', max: 5000 })).toBe(
        'added',
      );
      expect(await devices.removeInterest({ instance, id: device.id, interest: 'a' })).toBe(true);
    });

    const range = { instance, id: device.id, after: '', limit: 9 };
    expect(await devices.interests(range)).toMatchObject({ interests: ['b', 'c'] });
  });
});

async function someoneWaits(database: Database): Promise<void> {
  for (;;) {
    const waiting: unknown[] = await database.read`
      SELECT pid FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    if (waiting.length > 0) return;
  }
}

/** A gateway accepts a token, which the device may not have any more. */
async function acceptBoth(
  opened: Opened,
  instance: number,
  memory: MemoryDevices,
  model: number,
  id: DeviceId | undefined,
  { token }: Step,
): Promise<void> {
  const device = memory.of(model).find(({ registered }) => registered.id === id);
  if (id === undefined || device === undefined) return;
  memory.accept(device.number, `token ${token}`, NOW_MS);
  await opened.accept(instance, id, `token ${token}`);
}

/** An action of a device, a backend or a gateway; `device` and `token` are places in short lists. */
const step = fc.record({
  what: fc.constantFrom(
    'register',
    'delete',
    'setToken',
    'setUser',
    'replaceOldest',
    'setInterests',
    'addInterest',
    'removeInterest',
    'deleteUser',
    'accept',
  ),
  device: fc.nat(5),
  token: fc.nat(4),
  platform: fc.constantFrom('fcm', 'web'),
  user: fc.constantFrom('ann', 'bob'),
  interests: fc.uniqueArray(fc.constantFrom('a', 'B', '_', '-', 'c')),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

function registering({ token, platform }: Step) {
  const text = `token ${token}`;
  return newDevice({ platform, token: text, identity: text });
}

function take(
  store: DeviceStore,
  instance: number,
  { what, token, device, user, interests }: Step,
  fresh: ReturnType<typeof newDevice>,
  ids: readonly DeviceId[],
  nowMs: number,
): Promise<unknown> {
  const id = ids.at(-1 - device) ?? fresh.id;
  const [interest = 'z'] = interests;
  const text = `token ${token}`;
  switch (what) {
    case 'register':
      return store.register({ instance, device: fresh, nowMs });
    case 'delete':
      return store.delete({ instance, id });
    case 'setToken':
      return store.setToken({ instance, id, token: text, identity: text, nowMs });
    case 'setUser':
      return store.setUser({ instance, id, userId: user, max: 2, replaceOldest: false, nowMs });
    case 'replaceOldest':
      return store.setUser({ instance, id, userId: user, max: 1, replaceOldest: true, nowMs });
    case 'setInterests':
      return store.setInterests({ instance, id, interests });
    case 'addInterest':
      return store.addInterest({ instance, id, interest, max: 3 });
    case 'removeInterest':
      return store.removeInterest({ instance, id, interest });
    case 'deleteUser':
      return store.deleteUser(instance, user);
    case 'accept':
      // Not a call of the store: see `acceptBoth`.
      return Promise.resolve();
    default:
      return what satisfies never;
  }
}

async function loseInstance(database: Database, instance: number): Promise<void> {
  await database.write(async (sql) => {
    await sql`DELETE FROM devices WHERE instance = ${instance}`;
    await sql`DELETE FROM instance_numbers WHERE number = ${instance}`;
  });
}

import type { DeviceStore } from '../../../src/push/device-store.ts';
import type { PublishId } from '../../../src/push/model/publish.ts';
import type { Database } from '../../../src/stores/database/database.ts';
import { StoredDevices } from '../../../src/stores/push/devices/device-store.ts';
import { writeDevices } from '../../../src/stores/push/publishes/page-devices.ts';
import { StoredPublishes } from '../../../src/stores/push/publishes/publish-store.ts';
import { databases } from '../../../testing/databases/databases.ts';
import { acceptDevice, makeInstance } from '../../../testing/databases/push-instance.ts';
import { MemoryDevices } from '../../../testing/memory-stores/devices.ts';
import { MemoryPublishes } from '../../../testing/memory-stores/publishes.ts';
import { NOW_MS, newDevice } from './device-store.contract.ts';
import { publishStoreContract } from './publish-store.contract.ts';
import { openDatabases } from './stores.ts';

const registerIn = (devices: DeviceStore) => async (instance: number, userId?: string) => {
  const device = newDevice();
  await devices.register({ instance, device, nowMs: NOW_MS });
  if (userId !== undefined) {
    const user = { userId, max: 9, replaceOldest: false };
    await devices.setUser({ instance, id: device.id, ...user, nowMs: NOW_MS });
  }
  return device.id;
};

/** Adds a page with these devices. */
async function plan(
  database: Database,
  publish: PublishId,
  ids: readonly string[],
  state: 'cancelled' | 'waiting' = 'waiting',
): Promise<void> {
  const rows: { number: number | string }[] = await database.read`
    SELECT number FROM devices WHERE id IN ${database.read([...ids])} ORDER BY number`;
  const numbers = rows.map(({ number }) => Number(number));
  await database.write(
    (sql) => sql`
      INSERT INTO publish_pages
        (publish, instance, state, first_device, last_device, apns, fcm, web, due_at, devices)
      SELECT number, instance, ${state}, ${numbers[0] ?? 0}, ${numbers.at(-1) ?? 0}, 0,
        ${numbers.length}, 0, 0, ${writeDevices(numbers)}
      FROM publishes WHERE id = ${publish}`,
  );
}

publishStoreContract('MemoryPublishes', async () => {
  const devices = new MemoryDevices();
  const store = new MemoryPublishes(devices);
  return {
    store,
    other: store,
    instance: devices.newInstance(),
    foreign: devices.newInstance(),
    device: registerIn(devices),
    async plan(publish, ids, cancelled) {
      const instance = 1;
      const numbers = devices
        .of(instance)
        .filter(({ registered }) => ids.includes(registered.id))
        .map(({ number }) => number);
      store.find(instance, publish)?.pages.push({
        number: 1,
        devices: numbers,
        planned: { apns: 0, fcm: numbers.length, web: 0 },
        fates: new Map(),
        state: cancelled ?? 'waiting',
        isHeld: false,
        dueAtMs: NOW_MS,
        dues: [],
        leftOut: [],
        readyAtMs: undefined,
        claimedBy: undefined,
      });
    },
    async acceptDevice(instance, id) {
      for (const { number, registered, token } of devices.of(instance)) {
        if (registered.id === id) devices.accept(number, token.token, NOW_MS);
      }
    },
    lose: async () => store.lose(),
    async [Symbol.asyncDispose]() {
      // Nothing is open.
    },
  };
});

for (const { name, make } of databases) {
  publishStoreContract(`StoredPublishes in ${name}`, async () => {
    const opened = await openDatabases(make);
    const { database, second } = opened;
    const [instance, foreign] = [await makeInstance(database), await makeInstance(database)];
    return {
      store: new StoredPublishes(database),
      other: new StoredPublishes(second),
      instance,
      foreign,
      device: registerIn(new StoredDevices(database)),
      plan: (publish, ids, cancelled) => plan(database, publish, ids, cancelled),
      acceptDevice: (where, id) => acceptDevice(database, where, id),
      lose: () =>
        database.write(async (sql) => {
          await sql`DELETE FROM publishes`;
          await sql`DELETE FROM instance_numbers`;
        }),
      [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
    };
  });
}

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'bun:test';
import { newPublishId } from '../../../src/push/model/publish-id.ts';
import { readKnownDevice } from '../../../src/stores/push/devices/device-details.ts';
import { findPublishesOf } from '../../../src/stores/push/publishes/publishes-of-devices.ts';
import {
  listUnreached,
  type UnreachedQuery,
} from '../../../src/stores/push/publishes/unreached-devices.ts';
import { databases } from '../../../testing/databases/databases.ts';
import { DeliveryScene, NOW_MS } from './delivery/delivery-scene.ts';
import { openPushStores } from './stores.ts';

describe.each(databases)('in $name', ({ make }) => {
  let opened: Awaited<ReturnType<typeof openPushStores>>;
  let scene: DeliveryScene;
  beforeAll(async () => {
    opened = await openPushStores(make);
  });
  afterAll(() => opened[Symbol.asyncDispose]());
  beforeEach(async () => {
    scene = new DeliveryScene(opened, await opened.newInstance());
  });

  const list = async (query: Pick<UnreachedQuery, 'publish'> & Partial<UnreachedQuery>) => {
    const { instance } = scene;
    const all = { instance, after: 0, limit: 100, ...query };
    const found = await listUnreached(opened.database, all);
    if (found === undefined) throw new Error('there is no such publish');
    return found;
  };

  /** What is known of a device by its id. */
  const known = async (id: Parameters<typeof readKnownDevice>[1]['id']) => {
    const found = await readKnownDevice(opened.database, { instance: scene.instance, id });
    if (found === undefined) throw new Error('there is no such device');
    return found;
  };

  describe('the devices that a publish has not reached', () => {
    it('have expired for one reason if the publish gave way, before and after their rows change', async () => {
      const device = await scene.device();
      const { id: publish, number } = await scene.planned({ devices: 0 });
      await scene.deliver('retry', 2000);
      const { instance, nowMs } = scene;
      await opened.backlog.giveWay({ instance, publishes: [number], nowMs });
      for (const laterMs of [0, 2000]) {
        scene.nowMs += laterMs;
        await scene.claim();
        for (const query of [
          { publish },
          { publish, state: 'expired', reason: 'gave-way' },
        ] as const) {
          expect((await list(query)).devices).toMatchObject([
            { id: device.id, state: 'expired', reason: 'gave-way', nextAttemptAtMs: undefined },
          ]);
        }
        expect((await list({ publish, state: 'retrying' })).devices).toEqual([]);
      }
    });

    it('are those that were not accepted, each with what is left of it', async () => {
      const device = await scene.device();
      const { id: publish } = await scene.planned({ devices: 0 });
      await scene.deliver('retry', 2000);
      const common = { id: device.id, platform: 'fcm', reason: 'because-retry', attempts: 1 };
      expect(await list({ publish })).toMatchObject({
        devices: [{ ...common, state: 'retrying', nextAttemptAtMs: scene.nowMs + 2000 }],
        next: undefined,
      });
      scene.nowMs += 2000;
      await scene.deliver('pruned');
      // The device is only known by its tombstone now.
      expect((await list({ publish, state: 'pruned', platform: 'fcm' })).devices).toEqual([
        {
          id: device.id,
          platform: 'fcm',
          userId: undefined,
          state: 'pruned',
          attempts: 2,
          changedAtMs: scene.nowMs,
          nextAttemptAtMs: undefined,
          reason: 'because-pruned',
          words: 'so pruned',
        },
      ]);
      expect(await known(device.id)).toMatchObject({
        platform: 'fcm',
        registeredAtMs: NOW_MS,
        registered: undefined,
        removed: { atMs: scene.nowMs, reason: 'because-pruned', words: 'so pruned' },
      });
    });

    it('are no devices that were accepted in the end, and not those of other publishes', async () => {
      await scene.device();
      const { id: publish } = await scene.planned({ devices: 0 });
      await scene.deliver('retry', 1000);
      scene.nowMs += 1000;
      await scene.deliver();
      const { id: other } = await scene.planned({ devices: 0 });
      await scene.deliver('failed');
      expect((await list({ publish })).devices).toEqual([]);
      expect((await list({ publish: other })).devices).toMatchObject([{ state: 'failed' }]);
      const { instance } = scene;
      const all = { instance, after: 0, limit: 1, publish: newPublishId(NOW_MS) };
      expect(await listUnreached(opened.database, all)).toBeUndefined();
      const elsewhere = { ...all, publish, instance: await opened.newInstance() };
      expect(await listUnreached(opened.database, elsewhere)).toBeUndefined();
    });

    it('are cancelled with their publish, and come in pages by reason', async () => {
      const { id: publish } = await scene.planned({ devices: 5 });
      await scene.deliver('retry', 60_000);
      const { instance, nowMs } = scene;
      await opened.publishes.cancel({ instance, id: publish, nowMs });
      const first = await list({ publish, reason: 'because-retry', limit: 3 });
      expect(first.devices.map(({ state }) => state)).toEqual(Array(3).fill('cancelled'));
      const rest = await list({
        publish,
        reason: 'because-retry',
        limit: 3,
        after: first.next ?? 0,
      });
      expect(rest.devices).toHaveLength(2);
      expect(rest.next).toBeUndefined();
      const ids = new Set([...first.devices, ...rest.devices].map(({ id }) => id));
      expect(ids.size).toBe(5);
      expect(await list({ publish, reason: 'other' })).toEqual({ devices: [], next: undefined });
    });

    it('are read piece by piece, with other work between', async () => {
      const { id: publish, number } = await scene.planned({ devices: 0 });
      await opened.database.write(async (sql) => {
        for (let from = 1; from <= 21_000; from += 500) {
          const rows = Array.from({ length: 500 }, (_, n) => ({
            publish: number,
            device: 1_000_000 + from + n,
            instance: scene.instance,
            platform: 'web',
            state: 'failed',
            attempts: 1,
            changed_at: NOW_MS,
            due_at: NOW_MS,
            reason: from + n === 20_900 ? 'rare' : 'usual',
            words: '',
          }));
          await sql`INSERT INTO publish_devices ${sql(rows)}`;
        }
      });
      let turns = 0;
      const turning = setInterval(() => turns++, 0);
      const first = await list({ publish, reason: 'rare' });
      clearInterval(turning);
      expect(first.devices).toEqual([]);
      expect(first.next).toBe(1_020_000);
      expect(turns).toBeGreaterThan(5);
      const second = await list({ publish, reason: 'rare', after: first.next ?? 0 });
      expect(second.devices).toMatchObject([{ id: undefined, platform: 'web', reason: 'rare' }]);
      expect(second.next).toBeUndefined();
    });
  });

  describe('the publishes of a device', () => {
    const find = async (id: Parameters<typeof known>[0], limit = 10, before?: number) => {
      const { number } = await known(id);
      const { instance } = scene;
      const query = { instance, devices: [number], before, limit };
      return await findPublishesOf(opened.database, query);
    };

    it('are those with the device on a page, the newest first, also after it was removed', async () => {
      const [device, other] = [await scene.device(), await scene.device({}, 'ann')];
      const first = await scene.planned({ devices: 3, perPage: 2 });
      const toAnn = await scene.planned({ devices: 0, target: { kind: 'users', names: ['ann'] } });
      const last = await scene.planned({ devices: 0 });
      const found = await find(device.id);
      expect(found.found.map(({ id }) => id)).toEqual([last.id, first.id]);
      expect(found).toMatchObject({ looked: 3, next: undefined });
      expect((await find(other.id)).found).toMatchObject([{ id: toAnn.id }]);
      const one = await find(device.id, 1);
      expect(one).toMatchObject({ found: [{ id: last.id }], looked: 1 });
      expect(await find(device.id, 1, one.next)).toMatchObject({ found: [{ id: first.id }] });
      for (const job of await scene.claim()) await scene.finish(job, 'pruned');
      expect((await find(device.id)).found).toHaveLength(2);
    });

    it('are looked for in a bounded number of publishes', async () => {
      const device = await scene.device();
      const { id } = await scene.planned({ devices: 0 });
      await Promise.all(Array.from({ length: 220 }, () => scene.accept()));
      const first = await find(device.id);
      expect(first).toMatchObject({ found: [], looked: 200 });
      const rest = await find(device.id, 10, first.next);
      expect(rest).toMatchObject({ found: [{ id }], looked: 21, next: undefined });
    });
  });
});

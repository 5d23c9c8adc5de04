import { beforeEach, describe, expect, it } from 'bun:test';
import type { DeliveryStore } from '../../../../src/push/delivering/ports.ts';
import { DEVICE_REMOVED } from '../../../../src/push/model/delivery.ts';
import { newDeviceId } from '../../../../src/push/model/device-id.ts';
import { newPublishId } from '../../../../src/push/model/publish-id.ts';
import { StoreLost } from '../../../../src/push/store-faults.ts';
import { newDevice } from '../device-store.contract.ts';
import { type DeliveryScene, NOW_MS } from './delivery-scene.ts';
import type { DeliverySetup, OpenDeliveryStores } from './delivery-setup.ts';

/** What the push API and webhooks expect of any story store. */
export function storyStoreContract(current: () => DeliverySetup): void {
  let opened: OpenDeliveryStores;
  let store: DeliveryStore;
  let scene: DeliveryScene;
  beforeEach(() => {
    ({ opened, store, scene } = current());
  });
  const newScene = () => current().newScene();

  describe('the story of a device', () => {
    const event = (what: string, attempts = 1, reason = `because-${what}`) => ({
      atMs: scene.nowMs,
      what,
      reason,
      words: `so ${what}`,
      attempts,
    });

    it('says that it is not in the audience', async () => {
      const outside = newDevice();
      await opened.devices.register({ instance: scene.instance, device: outside, nowMs: NOW_MS });
      const { number, id } = await scene.claimed();
      expect(await scene.story(id, outside.id)).toMatchObject({ page: 'ahead' });
      await store.endPlanning({ publish: number, after: 0, nowMs: NOW_MS });
      expect(await scene.story(id, outside.id)).toEqual({
        platform: 'fcm',
        kind: 'interests',
        page: 'none',
        registeredAtMs: NOW_MS,
        removed: undefined,
        matches: false,
        hasPayload: true,
        nextAttemptAtMs: undefined,
        events: [],
      });
    });

    it('says that it joined the audience too late, or has a platform without a payload', async () => {
      const { id } = await scene.planned({ devices: 1 });
      const late = await scene.device();
      expect(await scene.story(id, late.id)).toMatchObject({ page: 'none', matches: true });
      const apple = await scene.device({ platform: 'apns' });
      expect(await scene.story(id, apple.id)).toMatchObject({
        page: 'none',
        matches: true,
        hasPayload: false,
      });
    });

    it('says that its page waits, then that it was accepted', async () => {
      const device = await scene.device();
      const { id } = await scene.planned({ devices: 2 });
      expect(await scene.story(id, device.id)).toMatchObject({
        page: 'waiting',
        matches: true,
        events: [],
      });
      await scene.deliver();
      expect(await scene.story(id, device.id)).toMatchObject({
        page: 'delivered',
        nextAttemptAtMs: undefined,
        events: [{ atMs: NOW_MS, what: 'accepted', reason: '', words: '', attempts: 1 }],
      });
    });

    it('says how often it was tried, and when it is retried', async () => {
      const device = await scene.device();
      const { id } = await scene.planned({ devices: 0 });
      await scene.deliver('retry', 2000);
      expect(await scene.story(id, device.id)).toMatchObject({
        page: 'delivered',
        nextAttemptAtMs: NOW_MS + 2000,
        events: [event('retry')],
      });
      scene.nowMs += 2000;
      await scene.deliver('accepted');
      expect(await scene.story(id, device.id)).toMatchObject({
        nextAttemptAtMs: undefined,
        events: [{ ...event('accepted', 2, 'because-retry'), words: 'so retry' }],
      });
    });

    it('says that it failed, expired, or was deleted', async () => {
      for (const what of ['failed', 'expired'] as const) {
        const device = await scene.device();
        const { id } = await scene.planned({ devices: 0 });
        await scene.deliver(what);
        expect((await scene.story(id, device.id)).events).toEqual([event(what)] as never);
      }
      const [device, id] = [await scene.device(), (await scene.planned({ devices: 0 })).id];
      const job = await scene.job();
      await store.settle({ job: job, results: [], nowMs: NOW_MS });
      expect((await scene.story(id, device.id)).events).toEqual([
        { atMs: NOW_MS, what: 'failed', reason: DEVICE_REMOVED, words: '', attempts: 0 },
      ]);
    });

    it('says that its publish was cancelled', async () => {
      const devices = [await scene.device(), await scene.device()];
      const { id } = await scene.planned({ devices: 0, perPage: 1 });
      await scene.deliver('retry', 1000);
      const tried = event('retry');
      scene.nowMs += 10;
      await opened.publishes.cancel({ instance: scene.instance, id, nowMs: scene.nowMs });
      const stories = () => Promise.all(devices.map((device) => scene.story(id, device.id)));
      const expected = [
        {
          page: 'delivered',
          nextAttemptAtMs: undefined,
          events: [tried, { ...tried, what: 'cancelled', atMs: scene.nowMs }],
        },
        { page: 'cancelled', events: [] },
      ];
      expect(await stories()).toMatchObject(expected);
      scene.nowMs += 1000;
      expect(await scene.claim()).toEqual([]);
      expect(await stories()).toMatchObject(expected);
    });

    it('says what the device has reported', async () => {
      const device = await scene.device();
      const { id } = await scene.planned({ devices: 0 });
      await scene.deliver();
      const report = (event: 'delivery' | 'open', atMs: number) =>
        opened.publishes.report({
          instance: scene.instance,
          report: {
            event,
            publishId: id,
            deviceId: device.id,
            userId: undefined,
            timestampSeconds: 1,
            appInBackground: undefined,
            hasDisplayableContent: undefined,
            hasData: undefined,
          },
          nowMs: atMs,
        });
      await report('open', NOW_MS + 20);
      await report('delivery', NOW_MS + 10);
      const { events } = await scene.story(id, device.id);
      expect(events.map(({ atMs, what }) => [atMs - NOW_MS, what])).toEqual([
        [0, 'accepted'],
        [10, 'delivered'],
        [20, 'opened'],
      ]);
    });

    it('says whether a publish to users names its user', async () => {
      const target = { kind: 'users', names: ['ann', 'bob'] } as const;
      const [ann, eve] = [await scene.device({}, 'ann'), await scene.device({}, 'eve')];
      const { id } = await scene.planned({ devices: 0, target });
      expect(await scene.story(id, ann.id)).toMatchObject({ page: 'waiting', matches: true });
      expect(await scene.story(id, eve.id)).toMatchObject({ page: 'none', matches: false });
    });

    it('has no devices or publishes of another instance', async () => {
      const second = await newScene();
      const [mine, theirs] = [await scene.device(), await second.device()];
      const { id } = await scene.planned({ devices: 0 });
      expect(
        await opened.stories.story({ instance: scene.instance, publish: id, device: theirs.id }),
      ).toBeUndefined();
      expect(
        await opened.stories.story({ instance: second.instance, publish: id, device: theirs.id }),
      ).toBeUndefined();
      expect(
        await opened.stories.story({
          instance: scene.instance,
          publish: newPublishId(NOW_MS),
          device: mine.id,
        }),
      ).toBeUndefined();
      expect(
        await opened.stories.story({
          instance: scene.instance,
          publish: id,
          device: newDeviceId('fcm'),
        }),
      ).toBeUndefined();
    });
  });

  describe('the users of a publish', () => {
    it('are those who were reached, and those whose gateways failed', async () => {
      const target = { kind: 'users', names: ['ann', 'bob', 'cat', 'dan', 'eve'] } as const;
      for (const user of ['ann', 'ann', 'bob', 'bob', 'cat', 'dan']) {
        await scene.device({}, user);
      }
      const { number, recipients } = await scene.planned({ devices: 0, perPage: 1, target });
      expect(recipients).toHaveLength(6);
      const ends = ['failed', 'accepted', 'pruned', 'expired', 'pruned', 'retry'] as const;
      const jobs = await scene.claim();
      expect(jobs).toHaveLength(6);
      for (const [index, job] of jobs.entries()) {
        await scene.finish(
          job,
          ends[recipients.findIndex(({ number: device }) => device === job.devices[0])] ?? 'failed',
          index,
        );
      }
      expect(await opened.stories.usersReached(number)).toEqual({
        delivered: ['ann'],
        failed: ['bob'],
      });
      scene.nowMs += 100;
      expect(await scene.deliver('accepted')).toBe('finished');
      expect(await opened.stories.usersReached(number)).toEqual({
        delivered: ['ann', 'dan'],
        failed: ['bob'],
      });
    });

    it('are not recorded for a publish to interests', async () => {
      await scene.device();
      const { number } = await scene.planned({ devices: 1 });
      await scene.deliver();
      expect(await opened.stories.usersReached(number)).toEqual({ delivered: [], failed: [] });
    });
  });

  it('fails, rather than call a device unknown, if the store has lost its instance', async () => {
    const device = await scene.device();
    const { id } = await scene.planned({ devices: 0 });
    await opened.deleteInstance(scene.instance);
    const asked = opened.stories.story({
      instance: scene.instance,
      publish: newPublishId(NOW_MS),
      device: device.id,
    });
    expect(await asked.catch((error: unknown) => error)).toBeInstanceOf(StoreLost);
    expect(id).toBeString();
  });
}

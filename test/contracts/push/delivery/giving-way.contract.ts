import { beforeEach, describe, expect, it } from 'bun:test';
import { type BacklogStore, GAVE_WAY } from '../../../../src/push/backlog-store.ts';
import type { DeliveryStore } from '../../../../src/push/delivering/ports.ts';
import { type DeliveryScene, LEASE_MS, NOW_MS } from './delivery-scene.ts';
import type { DeliverySetup } from './delivery-setup.ts';

/** What the pipeline expects if publishes that wait only for failures give way to new ones. */
export function givingWayContract(current: () => DeliverySetup): void {
  let store: DeliveryStore;
  let other: DeliveryStore;
  let backlog: BacklogStore;
  let otherBacklog: BacklogStore;
  let scene: DeliveryScene;
  beforeEach(() => {
    ({ store, other, scene } = current());
    ({ backlog, otherBacklog } = current().opened);
  });

  /** Claims a job, and gives it back as waiting for open circuits only. */
  const hold = async () => {
    const job = await scene.job();
    await store.hold([job], NOW_MS + 500);
    return job;
  };

  describe('giving way', () => {
    const waiting = async () => {
      const { publishes } = await backlog.waiting({ instance: scene.instance, after: 0 });
      return publishes.map(({ number }) => number);
    };
    const giveWay = (publishes: readonly number[], by = backlog) => {
      const { instance, nowMs } = scene;
      return by.giveWay({ instance, publishes, nowMs });
    };

    it('finishes a publish that waits for retries, which are dropped when they become due', async () => {
      const { id, number } = await scene.planned({ devices: 3 });
      await scene.deliver('retry', 1000);
      expect(await waiting()).toEqual([number]);
      expect(await giveWay([number])).toMatchObject({
        publishes: [id],
        devices: { apns: 0, fcm: 3, web: 0 },
      });
      const status = await scene.status(id);
      expect(status.state).toBe('finished');
      expect(status.reasons).toEqual([{ platform: 'fcm', reason: GAVE_WAY, devices: 3 }]);
      expect(await scene.counts(id)).toEqual({ planned: 3, expired: 3 });
      expect(await waiting()).toEqual([]);

      scene.nowMs += 1000;
      expect(await scene.claim()).toEqual([]);
      expect(await scene.counts(id)).toEqual({ planned: 3, expired: 3 });
      expect(await store.nextDue()).toBeUndefined();
    });

    it('finishes a publish whose pages are held, with what was delivered of them', async () => {
      const { id, number } = await scene.planned({ devices: 4, perPage: 2 });
      const [first, second] = [await scene.job(), await scene.job()];
      await scene.settlePart(first, 1);
      await store.hold([first], NOW_MS + 500);
      expect(await waiting()).toEqual([]);
      await store.hold([second], NOW_MS + 500);
      expect(await waiting()).toEqual([number]);
      await giveWay([number]);
      expect((await scene.status(id)).state).toBe('finished');
      expect(await scene.counts(id)).toEqual({ planned: 4, accepted: 1, expired: 3 });
      expect(await store.nextDue()).toBeUndefined();
    });

    it('finishes a publish that was planned while its circuits were open', async () => {
      await scene.device();
      const publish = await scene.claimed();
      const { number } = publish;
      const recipients = await scene.recipients({ kind: 'interests', names: ['hello'] });
      await scene.addPage(number, 0, recipients, { heldUntilMs: NOW_MS + 500 });
      // Others of its audience are not planned yet.
      expect(await waiting()).toEqual([]);
      await store.endPlanning({
        publish: number,
        after: recipients.at(-1)?.number ?? 0,
        nowMs: NOW_MS,
      });
      expect(await scene.claim()).toEqual([]);
      expect(await waiting()).toEqual([number]);
      await giveWay([number]);
      expect(await scene.counts(publish.id)).toEqual({ planned: 1, expired: 1 });
    });

    it('leaves publishes alone that are in flight', async () => {
      const { id, number } = await scene.planned({ devices: 2 });
      const job = await hold();
      scene.nowMs += 500;
      const again = await scene.job(other);
      expect(again).toMatchObject({ what: 'page', devices: job.devices });
      expect(await waiting()).toEqual([]);
      expect(await giveWay([number])).toMatchObject({ publishes: [] });
      expect(await scene.finish(again, 'retry', 0, other)).toBe('under-way');

      const retries = await scene.job();
      expect(await waiting()).toEqual([]);
      expect(await giveWay([number])).toMatchObject({ publishes: [] });
      await store.hold([retries], NOW_MS + 2000);
      expect(await waiting()).toEqual([number]);
      expect(await scene.counts(id)).toEqual({ planned: 2, retrying: 2 });
      scene.nowMs = NOW_MS + 2000;
      expect(await scene.deliver()).toBe('finished');
    });

    it('happens once, by whichever server', async () => {
      const { id, number } = await scene.planned({ devices: 1 });
      await scene.deliver('retry', 1000);
      const both = await Promise.all([giveWay([number]), giveWay([number], otherBacklog)]);
      expect(both.flatMap(({ publishes }) => publishes)).toEqual([id]);
      expect(await scene.counts(id)).toEqual({ planned: 1, expired: 1 });
    });

    it('counts correctly during concurrent claims and results', async () => {
      for (let round = 0; round < 6; round += 1) {
        const { id, number } = await scene.planned({ devices: round === 0 ? 12 : 0, perPage: 3 });
        await store.hold(await scene.claim(3), scene.nowMs);
        const page = await scene.job(other);
        await scene.finish(page, 'retry', 0, other);
        const [mine, theirs] = await Promise.all([
          scene.claim(4),
          scene.claim(4, other),
          giveWay([number]),
          giveWay([number], otherBacklog),
        ]);
        await Promise.all([
          ...mine.map((job) => scene.finish(job, 'failed')),
          ...theirs.map((job) => scene.finish(job, 'failed', 0, other)),
        ]);
        scene.nowMs += LEASE_MS;
        for (const job of await scene.claim()) await scene.finish(job, 'failed');
        const { planned, failed = 0, expired = 0, ...rest } = await scene.counts(id);
        expect(rest).toEqual({});
        expect(failed + expired).toBe(planned ?? 0);
        expect((await scene.status(id)).state).toBe('finished');
      }
    });

    it('records users as not reached, unless another device of theirs was', async () => {
      const target = { kind: 'users', names: ['ann', 'bob', 'eve'] } as const;
      await scene.device({}, 'ann');
      await scene.device({}, 'ann');
      await scene.device({}, 'bob');
      await scene.device({ platform: 'web' }, 'eve');
      const { number } = await scene.planned({ devices: 0, target, perPage: 2 });
      await scene.deliver('retry', 1000);
      const job = await scene.job();
      await scene.settlePart(job, 1);
      await store.hold([job], NOW_MS + 500);
      await giveWay([number]);
      const users = await scene.stores.stories.usersReached(number);
      expect(users).toEqual({ delivered: ['bob'], failed: ['ann', 'eve'] });
    });

    it('is told in the stories of its devices', async () => {
      const [tried, waited] = [await scene.device(), await scene.device()];
      const { id, number } = await scene.planned({ devices: 0, perPage: 1 });
      await scene.deliver('retry', 5000);
      await hold();
      scene.nowMs += 100;
      await giveWay([number]);
      const end = { atMs: scene.nowMs, what: 'expired', reason: GAVE_WAY, words: '' } as const;
      const stories = async () => [
        await scene.story(id, tried.id),
        await scene.story(id, waited.id),
      ];
      for (const laterMs of [0, 5000]) {
        scene.nowMs += laterMs;
        await scene.claim();
        const [first, second] = await stories();
        expect(first).toMatchObject({ page: 'delivered', nextAttemptAtMs: undefined });
        expect(first?.events).toEqual([
          { atMs: NOW_MS, what: 'retry', reason: 'because-retry', words: 'so retry', attempts: 1 },
          { ...end, attempts: 1 },
        ]);
        expect(second).toMatchObject({ page: 'delivered', events: [{ ...end, attempts: 0 }] });
      }
    });

    it('makes room for bytes, the oldest publish first', async () => {
      const { instance } = scene;
      const { number: first } = await scene.planned({ devices: 1 });
      const { number: second } = await scene.planned({ devices: 0 });
      for (const job of await scene.claim()) await scene.finish(job, 'retry');
      expect(await waiting()).toEqual([first, second]);
      const bytes = await backlog.pendingBytes({ instance, nowMs: NOW_MS });
      const left = await giveWay([first]);
      expect(left.bytes).toBe(bytes / 2);
      expect(await backlog.pendingBytes({ instance, nowMs: NOW_MS })).toBe(bytes / 2);
    });
  });

  describe('a held page', () => {
    it('may be claimed by any server when its time has come, also after the clock was set back', async () => {
      await scene.planned({ devices: 1 });
      await hold();
      expect(await scene.claim()).toEqual([]);
      await other.clockSetBack(NOW_MS - 60_000, NOW_MS);
      scene.nowMs = NOW_MS - 60_000;
      expect(await scene.claim(9, other)).toHaveLength(1);
    });

    it('is cancelled with its publish', async () => {
      const { id } = await scene.planned({ devices: 1 });
      await hold();
      const { instance, nowMs } = scene;
      await scene.stores.publishes.cancel({ instance, id, nowMs });
      expect(await scene.counts(id)).toEqual({ planned: 1, cancelled: 1 });
    });

    it('counts as in flight if it was given back after its publish was cancelled', async () => {
      const { id } = await scene.planned({ devices: 1 });
      const job = await scene.job();
      const { instance, nowMs } = scene;
      await scene.stores.publishes.cancel({ instance, id, nowMs });
      await store.hold([job], NOW_MS + 500);
      expect(await scene.counts(id)).toEqual({ planned: 1 });
      scene.nowMs += 500;
      expect(await scene.claim()).toEqual([]);
      expect(await scene.counts(id)).toEqual({ planned: 1, cancelled: 1 });
    });
  });
}

import { beforeEach, describe, expect, it } from 'bun:test';
import type { DeliveryStore } from '../../../../src/push/delivering/ports.ts';
import { type DeliveryScene, LEASE_MS, NOW_MS } from './delivery-scene.ts';
import {
  claimPlans,
  type DeliverySetup,
  ids,
  numbersOf,
  type OpenDeliveryStores,
  pagesOf,
} from './delivery-setup.ts';

/** What the pipeline expects of claims on plans and jobs. */
export function workClaimsContract(current: () => DeliverySetup): void {
  let opened: OpenDeliveryStores;
  let store: DeliveryStore;
  let other: DeliveryStore;
  let scene: DeliveryScene;
  beforeEach(() => {
    ({ opened, store, other, scene } = current());
  });
  const newScene = () => current().newScene();
  const plan = (nowMs: number, by = store, limit = 100) => claimPlans(by, nowMs, limit);

  describe('claims', () => {
    it('are extended by the server that has them', async () => {
      await scene.planned({ devices: 2 });
      await scene.deliver('retry', 0);
      const retries = await scene.job();
      await scene.planned({ devices: 1 });
      const page = await scene.job();
      const { number } = await scene.claimed();
      const held = { plans: [number], jobs: [retries, page] };
      await store.extend(held, NOW_MS + 2 * LEASE_MS);
      // Another server cannot extend them.
      await other.extend(held, NOW_MS + 9 * LEASE_MS);
      scene.nowMs += 2 * LEASE_MS - 1;
      expect(await scene.claim(9, other)).toEqual([]);
      expect(await plan(scene.nowMs, other)).toEqual([]);
      scene.nowMs += 1;
      expect(await scene.claim(9, other)).toHaveLength(2);
      expect(await plan(scene.nowMs, other)).toHaveLength(1);
      // They cannot be extended after they have expired.
      await store.extend(held, scene.nowMs + 9 * LEASE_MS);
      scene.nowMs += LEASE_MS;
      expect(await scene.claim()).toHaveLength(2);
    });

    it('are not extended once settled', async () => {
      await scene.planned({ devices: 1 });
      const job = await scene.job();
      await scene.finish(job);
      await store.extend({ plans: [], jobs: [job] }, NOW_MS + LEASE_MS);
      expect(await store.nextDue()).toBeUndefined();
    });

    it('end now if the clock was set back, and what was due by the old clock stays due', async () => {
      const HOUR_MS = 3_600_000;
      await scene.accept({ sendAtMs: NOW_MS + 1 });
      const waiting = await scene.planned({ devices: 2, perPage: 1 });
      const claimed = await scene.job();
      const others = await scene.job(other);
      const { id } = await scene.accept({ sendAtMs: NOW_MS - HOUR_MS / 2 });
      scene.nowMs = NOW_MS - HOUR_MS;
      expect(await scene.claim()).toEqual([]);
      expect(await plan(scene.nowMs)).toEqual([]);

      await store.clockSetBack(scene.nowMs, NOW_MS);
      expect(ids(await plan(scene.nowMs))).toEqual([id]);
      const again = await scene.job();
      expect(again.devices).toEqual(claimed.devices);
      expect(await scene.claim()).toEqual([]);
      expect(await scene.finish(again)).toBe('under-way');
      expect(await scene.finish(others, 'accepted', 0, other)).toBe('finished');
      expect(await scene.counts(waiting.id)).toEqual({ planned: 2, accepted: 2 });
    });

    it('delay no retry if the clock was set back', async () => {
      const HOUR_MS = 3_600_000;
      const { recipients } = await scene.planned({ devices: 2 });
      await scene.deliver('retry', 600_000);
      const away = await newScene();
      await away.planned({ devices: 1 });
      await away.deliver('retry', 5000);
      const due = async () => (await scene.claim()).flatMap(({ devices }) => devices);
      scene.nowMs -= HOUR_MS;
      await store.clockSetBack(scene.nowMs, NOW_MS);
      scene.nowMs += 4999;
      expect(await due()).toEqual([]);
      scene.nowMs += 1;
      expect(await due()).toHaveLength(1);
      scene.nowMs += 594_999;
      expect(await due()).toEqual(
        numbersOf(await away.recipients({ kind: 'interests', names: ['hello'] })),
      );
      scene.nowMs += 1;
      expect(await due()).toEqual(numbersOf(recipients));
    });

    it('are released by their server, or all at once', async () => {
      await scene.planned({ devices: 3, perPage: 1 });
      const mine = await scene.claim(1);
      const theirs = await scene.claim(1, other);
      const { id } = await scene.claimed();
      await store.release('own');
      expect(ids(await plan(NOW_MS, other))).toEqual([id]);
      const left = pagesOf(await scene.claim(9, other));
      expect(left).toHaveLength(2);
      expect(left).toContain(pagesOf(mine)[0] ?? 0);
      expect(left).not.toContain(pagesOf(theirs)[0] ?? 0);
      await store.release('all');
      expect(await scene.claim()).toHaveLength(3);
      expect(await plan(NOW_MS)).toHaveLength(1);
    });

    it('may be settled after they were released', async () => {
      const { id } = await scene.planned({ devices: 2 });
      const job = await scene.job();
      await store.release('own');
      expect(await scene.finish(job, 'retry', 0)).toBe('under-way');
      const retries = await scene.job();
      await store.release('own');
      expect(await scene.finish(retries)).toBe('finished');
      expect(await scene.counts(id)).toEqual({ planned: 2, accepted: 2 });
    });
  });

  describe('waiting work', () => {
    it('is due at a known time', async () => {
      expect(await store.nextDue()).toBeUndefined();
      const { id } = await scene.accept({ sendAtMs: NOW_MS + 500 });
      expect(await store.nextDue()).toBe(NOW_MS + 500);
      await opened.publishes.cancel({ instance: scene.instance, id, nowMs: NOW_MS });
      expect(await store.nextDue()).toBeUndefined();
      await scene.planned({ devices: 1, dueAtMs: NOW_MS - 7 });
      expect(await store.nextDue()).toBe(NOW_MS - 7);
      await scene.deliver('retry', 300);
      expect(await store.nextDue()).toBe(NOW_MS + 300);
      scene.nowMs += 300;
      const job = await scene.job();
      expect(await store.nextDue()).toBe(scene.nowMs + LEASE_MS);
      await scene.finish(job);
      expect(await store.nextDue()).toBeUndefined();
    });

    it('is counted', async () => {
      const before = await store.backlog();
      await scene.planned({ devices: 5, perPage: 2, dueAtMs: NOW_MS - 7 });
      expect(await store.backlog()).toEqual({
        pages: before.pages + 3,
        retries: before.retries,
        oldestDueAtMs: NOW_MS - 7,
      });
      await scene.finish(await scene.job(), 'retry', 50);
      expect(await store.backlog()).toMatchObject({
        pages: before.pages + 2,
        retries: before.retries + 2,
      });
    });

    it('excludes that of deleted instances', async () => {
      await scene.planned({ devices: 2, perPage: 1 });
      await scene.accept();
      await scene.deliver('retry', 0);
      await opened.deleteInstance(scene.instance);
      expect(await scene.claim()).toEqual([]);
      expect(await plan(NOW_MS)).toEqual([]);
      expect(await store.nextDue()).toBeUndefined();
    });
  });
}

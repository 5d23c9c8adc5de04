import { beforeEach, describe, expect, it } from 'bun:test';
import type { DeliveryStore } from '../../../../src/push/delivering/ports.ts';
import { type DeliveryScene, LEASE_MS, NOW_MS } from './delivery-scene.ts';
import { claimPlans, type DeliverySetup, type OpenDeliveryStores } from './delivery-setup.ts';

/** What the pipeline expects if a publish is cancelled while it is planned and delivered. */
export function cancellingContract(current: () => DeliverySetup): void {
  let opened: OpenDeliveryStores;
  let store: DeliveryStore;
  let other: DeliveryStore;
  let scene: DeliveryScene;
  beforeEach(() => {
    ({ opened, store, other, scene } = current());
  });
  const plan = (nowMs: number, by = store, limit = 100) => claimPlans(by, nowMs, limit);

  describe('cancelling', () => {
    const cancel = (id: Parameters<DeliveryScene['status']>[0]) =>
      opened.publishes.cancel({ instance: scene.instance, id, nowMs: scene.nowMs });

    it('stops planning', async () => {
      await scene.device();
      const { number, id } = await scene.claimed();
      expect((await cancel(id))?.state).toBe('cancelled');
      const recipients = await scene.recipients({ kind: 'interests', names: ['hello'] });
      expect(await scene.addPage(number, 0, recipients)).toBeUndefined();
      expect(await store.endPlanning({ publish: number, after: 0, nowMs: NOW_MS })).toBe(
        'cancelled',
      );
      expect(await plan(NOW_MS + LEASE_MS)).toEqual([]);
      expect(await scene.counts(id)).toEqual({});
    });

    it('reports which of several calls cancelled the publish', async () => {
      const { id } = await scene.accept();
      const answers = await Promise.all([cancel(id), cancel(id), cancel(id)]);
      expect(answers.map((status) => status?.state)).toEqual(Array(3).fill('cancelled'));
      expect(answers.filter((status) => status?.isCancelledNow)).toHaveLength(1);
      expect(await cancel(id)).toEqual(await scene.status(id));
    });

    it('prevents planning if the publish was not yet due', async () => {
      const { id } = await scene.accept({ sendAtMs: NOW_MS + 1000 });
      await cancel(id);
      expect(await plan(NOW_MS + 1000)).toEqual([]);
    });

    it('counts waiting pages, and lets pages in flight be settled', async () => {
      const { id } = await scene.planned({ devices: 6, perPage: 2 });
      const [first, second] = [await scene.job(), await scene.job()];
      expect(await scene.finish(first)).toBe('under-way');
      await cancel(id);
      expect(await scene.counts(id)).toEqual({ planned: 6, accepted: 2, cancelled: 2 });
      expect(await scene.claim()).toEqual([]);
      expect(await scene.finish(second, 'failed')).toBe('cancelled');
      expect(await scene.counts(id)).toEqual({
        planned: 6,
        accepted: 2,
        failed: 2,
        cancelled: 2,
      });
      expect((await scene.status(id)).state).toBe('cancelled');
    });

    it('prevents retries of pages in flight', async () => {
      const { id } = await scene.planned({ devices: 2 });
      const job = await scene.job();
      await cancel(id);
      expect(await scene.counts(id)).toEqual({ planned: 2 });
      expect(await scene.finish(job, 'retry', 0)).toBe('cancelled');
      expect(await scene.counts(id)).toEqual({ planned: 2, cancelled: 2 });
      expect(await scene.claim()).toEqual([]);
    });

    it('counts a page in flight whose claim expires', async () => {
      const { id } = await scene.planned({ devices: 2 });
      const job = await scene.job();
      await cancel(id);
      scene.nowMs += LEASE_MS;
      expect(await scene.claim(9, other)).toEqual([]);
      expect(await scene.counts(id)).toEqual({ planned: 2, cancelled: 2 });
      expect(await scene.finish(job)).toBe('stale');
      expect(await scene.counts(id)).toEqual({ planned: 2, cancelled: 2 });
      expect(await store.nextDue()).toBeUndefined();
    });

    it('counts waiting retries, and drops them', async () => {
      const { id } = await scene.planned({ devices: 3 });
      await scene.deliver('retry', 1000);
      await cancel(id);
      expect(await scene.counts(id)).toEqual({ planned: 3, cancelled: 3 });
      scene.nowMs += 1000;
      expect(await scene.claim()).toEqual([]);
      expect(await scene.counts(id)).toEqual({ planned: 3, cancelled: 3 });
      expect(await store.nextDue()).toBeUndefined();
    });

    it('lets retries in flight be settled', async () => {
      const { id } = await scene.planned({ devices: 4 });
      await scene.deliver('retry', 0);
      const [job, second] = await store.claimJobs({
        nowMs: NOW_MS,
        untilMs: NOW_MS + LEASE_MS,
        limit: 2,
        devicesPerJob: 1,
        except: [],
      });
      if (job === undefined || second === undefined) throw new Error('nothing is due');
      await cancel(id);
      expect(await scene.counts(id)).toEqual({ planned: 4, retrying: 2, cancelled: 2 });
      expect(await scene.finish(job, 'accepted')).toBe('cancelled');
      expect(await scene.counts(id)).toEqual({
        planned: 4,
        accepted: 1,
        retrying: 1,
        cancelled: 2,
      });
      expect(await scene.claim()).toEqual([]);
      expect(await scene.finish(second, 'retry', 0)).toBe('cancelled');
      expect(await scene.claim()).toEqual([]);
      expect(await scene.counts(id)).toEqual({ planned: 4, accepted: 1, cancelled: 3 });
    });

    it('counts retries in flight whose claim expires', async () => {
      const { id } = await scene.planned({ devices: 2 });
      await scene.deliver('retry', 0);
      const job = await scene.job();
      await cancel(id);
      expect(await scene.counts(id)).toEqual({ planned: 2, retrying: 2 });
      scene.nowMs += LEASE_MS;
      expect(await scene.claim(9, other)).toEqual([]);
      expect(await scene.counts(id)).toEqual({ planned: 2, cancelled: 2 });
      expect(await scene.finish(job)).toBe('stale');
      expect(await scene.counts(id)).toEqual({ planned: 2, cancelled: 2 });
    });

    it('counts correctly during concurrent claims, settlements and cancellations', async () => {
      for (let round = 0; round < 6; round += 1) {
        const { id } = await scene.planned({ devices: round === 0 ? 30 : 0, perPage: 3 });
        const [first] = await scene.claim(3);
        if (first !== undefined) await scene.finish(first, 'retry', 0);
        const [mine, theirs] = await Promise.all([
          scene.claim(4),
          scene.claim(4, other),
          cancel(id),
        ]);
        await Promise.all([
          ...mine.map((job) => scene.finish(job, 'failed')),
          ...theirs.map((job) => scene.finish(job, 'retry', 0, other)),
        ]);
        scene.nowMs += LEASE_MS;
        expect(await scene.claim()).toEqual([]);
        const {
          planned,
          accepted = 0,
          failed = 0,
          cancelled = 0,
          ...rest
        } = await scene.counts(id);
        expect(rest).toEqual({});
        expect(accepted + failed + cancelled).toBe(planned ?? 0);
      }
    });

    it('does not change a finished publish', async () => {
      const { id } = await scene.planned({ devices: 1 });
      await scene.deliver();
      expect((await cancel(id))?.state).toBe('finished');
      expect(await scene.counts(id)).toEqual({ planned: 1, accepted: 1 });
    });
  });
}

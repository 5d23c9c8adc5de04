import { beforeEach, describe, expect, it } from 'bun:test';
import type { DeliveryStore } from '../../../../src/push/delivering/ports.ts';
import { DEVICE_REMOVED, type Job } from '../../../../src/push/model/delivery.ts';
import { newDeviceId } from '../../../../src/push/model/device-id.ts';
import { type DeliveryScene, LEASE_MS, NOW_MS, resultOf } from './delivery-scene.ts';
import {
  type DeliverySetup,
  numbersOf,
  type OpenDeliveryStores,
  pagesOf,
} from './delivery-setup.ts';

/** What the pipeline expects of any job store, for pages and parts of them. */
export function jobStoreContract(current: () => DeliverySetup): void {
  let opened: OpenDeliveryStores;
  let store: DeliveryStore;
  let other: DeliveryStore;
  let scene: DeliveryScene;
  beforeEach(() => {
    ({ opened, store, other, scene } = current());
  });
  const newScene = () => current().newScene();

  describe('pages', () => {
    it('claims a page for one server until the claim expires', async () => {
      const { id, recipients, pages } = await scene.planned({ devices: 3 });
      const [job] = await scene.claim();
      expect(job).toMatchObject({
        what: 'page',
        page: pages[0],
        publish: { id, instance: scene.instance },
        devices: numbersOf(recipients),
        claimedUntilMs: NOW_MS + LEASE_MS,
      });
      expect(await scene.claim(9, other)).toEqual([]);
      scene.nowMs += LEASE_MS - 1;
      expect(await scene.claim(9, other)).toEqual([]);
      scene.nowMs += 1;
      expect(pagesOf(await scene.claim(9, other))).toEqual([...pages]);
      expect(await scene.claim()).toEqual([]);
    });

    it('leaves a page to the server that planned it until its claim expires', async () => {
      await scene.device();
      const { number } = await scene.claimed();
      const recipients = await scene.recipients({ kind: 'interests', names: ['hello'] });
      const page = await scene.addPage(number, 0, recipients, {
        claimedUntilMs: NOW_MS + 500,
      });
      expect(await scene.claim(9, other)).toEqual([]);
      scene.nowMs += 500;
      expect(pagesOf(await scene.claim(9, other))).toEqual([page ?? 0]);
    });

    it('records the results of a page once, from the server that claimed it last', async () => {
      const { id } = await scene.planned({ devices: 3, perPage: 2 });
      const job = await scene.job();
      scene.nowMs += LEASE_MS;
      const all = await scene.claim(9, other);
      const again = all.find(({ devices }) => devices.length === 2) ?? job;
      expect(again).toEqual({
        ...job,
        claimedUntilMs: scene.nowMs + LEASE_MS,
      });
      // The first server was slow, not dead; the other one has claimed all of it.
      expect(await scene.finish(job, 'accepted')).toBe('stale');
      expect(await scene.finish(again, 'failed', 0, other)).toBe('under-way');
      expect(await scene.finish(again, 'accepted', 0, other)).toBe('stale');
      expect(await scene.finish(job, 'accepted')).toBe('stale');
      expect(await scene.counts(id)).toEqual({ planned: 3, failed: 2 });
      expect((await scene.status(id)).reasons).toEqual([
        { platform: 'fcm', reason: 'because-failed', devices: 2 },
      ]);
    });

    it('continues after a crash with unfinished work', async () => {
      const { id, pages } = await scene.planned({ devices: 20, perPage: 2 });
      const before = await scene.claim(6);
      for (const job of before.slice(0, 4)) await scene.finish(job);
      // The server dies with two pages in flight.
      expect(pagesOf(await scene.claim(100, other))).toHaveLength(4);
      scene.nowMs += LEASE_MS;
      const left = await scene.claim(100, other);
      expect(pagesOf(left)).toHaveLength(6);
      expect(pagesOf(left)).toEqual(expect.arrayContaining(pagesOf(before.slice(4))));
      for (const job of left) await scene.finish(job, 'accepted', 0, other);
      expect(await scene.counts(id)).toEqual({ planned: 20, accepted: 20 });
      expect((await scene.status(id)).state).toBe('finished');
      expect(pages).toHaveLength(10);
    });

    it('never claims a page twice, with many concurrent callers', async () => {
      const { pages } = await scene.planned({ devices: 60, perPage: 1 });
      const claims = await Promise.all(
        Array.from({ length: 20 }, (_, index) => scene.claim(2, index % 2 === 0 ? store : other)),
      );
      const claimed = claims.flatMap(pagesOf);
      expect(new Set(claimed).size).toBe(claimed.length);
      claimed.push(...pagesOf(await scene.claim()));
      expect(claimed.sort((a, b) => a - b)).toEqual([...pages]);
    });

    it('does not delay an instance by the many pages of another', async () => {
      const second = await newScene();
      await scene.planned({ devices: 50, perPage: 1, dueAtMs: NOW_MS - 1000 });
      const theirs = await second.planned({ devices: 1 });
      const of = (jobs: readonly Job[]) => jobs.map(({ publish }) => publish.instance);
      const first = [await scene.job(), await scene.job()];
      expect(of(first).sort()).toEqual([scene.instance, second.instance].sort());
      expect(await second.counts(theirs.id)).toEqual({ planned: 1 });
    });

    it('divides the limit among instances', async () => {
      const [second, third] = [await newScene(), await newScene()];
      await scene.planned({ devices: 9, perPage: 1 });
      await second.planned({ devices: 2, perPage: 1 });
      await third.planned({ devices: 9, perPage: 1 });
      const jobs = await scene.claim(10);
      const byInstance = Map.groupBy(jobs, ({ publish }) => publish.instance);
      expect([...byInstance.values()].map(({ length }) => length).sort()).toEqual([2, 4, 4]);
    });

    it('skips the instances that the caller excludes', async () => {
      const second = await newScene();
      await scene.planned({ devices: 1 });
      await second.planned({ devices: 1 });
      await scene.accept();
      const except = [scene.instance];
      const jobs = await store.claimJobs({
        nowMs: NOW_MS,
        untilMs: NOW_MS + LEASE_MS,
        limit: 9,
        devicesPerJob: 9,
        except,
      });
      expect(jobs.map(({ publish }) => publish.instance)).toEqual([second.instance]);
      expect(
        await store.claimPlans({ nowMs: NOW_MS, untilMs: NOW_MS + LEASE_MS, limit: 9, except }),
      ).toEqual([]);
      expect(await store.nextDue(except)).toBe(NOW_MS + LEASE_MS);
      expect(await store.nextDue([scene.instance, second.instance])).toBeUndefined();
      expect(await store.nextDue()).toBe(NOW_MS);
    });

    it('claims the pages of the publish that was due first', async () => {
      const late = await scene.planned({ devices: 2, perPage: 1, dueAtMs: NOW_MS - 1 });
      const early = await scene.planned({ devices: 0, perPage: 1, dueAtMs: NOW_MS - 2 });
      expect(pagesOf(await scene.claim(2))).toEqual([...early.pages]);
      expect(pagesOf(await scene.claim(2))).toEqual([...late.pages]);
    });

    it('finishes a publish once, even if its last pages are settled together', async () => {
      for (let round = 0; round < 5; round += 1) {
        const { id } = await scene.planned({ devices: round === 0 ? 8 : 0, perPage: 1 });
        const jobs = await scene.claim();
        const ends = await Promise.all(
          jobs.flatMap((job) => [
            scene.finish(job, 'accepted'),
            scene.finish(job, 'accepted'),
            // Only the claimant may settle it.
            scene.finish(job, 'failed', 0, other),
          ]),
        );
        expect(ends.filter((end) => end === 'finished')).toHaveLength(1);
        expect(ends.filter((end) => end === 'stale')).toHaveLength(16);
        expect(await scene.counts(id)).toEqual({ planned: 8, accepted: 8 });
      }
    });

    it('counts deleted devices as failed', async () => {
      const { id, recipients } = await scene.planned({ devices: 3 });
      const [gone] = recipients;
      const job = await scene.job();
      await opened.devices.delete({ instance: scene.instance, id: gone?.id ?? newDeviceId('fcm') });
      expect(await scene.finish(job)).toBe('finished');
      expect(await scene.counts(id)).toEqual({ planned: 3, accepted: 2, failed: 1 });
      expect((await scene.status(id)).reasons).toEqual([
        { platform: 'fcm', reason: DEVICE_REMOVED, devices: 1 },
      ]);
    });

    it('counts each platform separately', async () => {
      await scene.device({ platform: 'web' });
      const { id, recipients } = await scene.planned({ devices: 3 });
      const job = await scene.job();
      const results = recipients.map((recipient) =>
        resultOf(recipient.platform === 'web' ? 'expired' : 'accepted', recipient, 1, 0),
      );
      expect(await store.settle({ job: job, results: results, nowMs: NOW_MS })).toBe('finished');
      expect((await scene.status(id)).platforms).toMatchObject({
        fcm: { planned: 3, accepted: 3, expired: 0 },
        web: { planned: 1, accepted: 0, expired: 1 },
      });
    });

    it('records a page of many devices with different failures', async () => {
      const { id } = await scene.planned({ devices: 1200, perPage: 1200 });
      expect(await scene.deliver('retry', 1000)).toBe('under-way');
      expect(await scene.counts(id)).toEqual({ planned: 1200, retrying: 1200 });
      scene.nowMs += 1000;
      const jobs = await scene.claim();
      expect(jobs.map(({ devices }) => devices.length)).toEqual([1000, 200]);
      for (const job of jobs) await scene.finish(job, 'failed');
      expect(await scene.counts(id)).toEqual({ planned: 1200, failed: 1200 });
      expect((await scene.status(id)).state).toBe('finished');
    });
  });

  describe('parts of a job', () => {
    it('claims a page after a crash without the devices whose results are recorded', async () => {
      const { id, recipients } = await scene.planned({ devices: 5 });
      const job = await scene.job();
      expect(await scene.settlePart(job, 2)).toBe('under-way');
      expect(await scene.counts(id)).toEqual({ planned: 5, accepted: 2 });
      expect(await scene.settlePart(job, 3)).toBe('under-way');
      expect(await scene.counts(id)).toEqual({ planned: 5, accepted: 3 });
      scene.nowMs += LEASE_MS;
      const again = await scene.job(other);
      expect(again.devices).toEqual(numbersOf(recipients).slice(3));
      expect(await scene.finish(again, 'failed', 0, other)).toBe('finished');
      expect(await scene.counts(id)).toEqual({ planned: 5, accepted: 3, failed: 2 });
    });

    it('counts each device once, even if its result is repeated', async () => {
      const { id } = await scene.planned({ devices: 4 });
      const job = await scene.job();
      // The answer was lost, so the whole job is settled.
      await scene.settlePart(job, 2, 'failed');
      await scene.settlePart(job, 2, 'accepted');
      expect(await scene.finish(job, 'accepted')).toBe('finished');
      expect(await scene.counts(id)).toEqual({ planned: 4, accepted: 2, failed: 2 });
    });

    it('records nothing of a page that another server has claimed since', async () => {
      const { id } = await scene.planned({ devices: 3 });
      const job = await scene.job();
      scene.nowMs += LEASE_MS;
      const again = await scene.job(other);
      expect(await scene.settlePart(job, 2)).toBe('stale');
      expect(await scene.settlePart(again, 1, 'accepted', other)).toBe('under-way');
      expect(await scene.counts(id)).toEqual({ planned: 3, accepted: 1 });
      expect(await scene.finish(again, 'accepted', 0, other)).toBe('finished');
      expect(await scene.settlePart(again, 1, 'accepted', other)).toBe('stale');
    });

    it('retries devices before the rest of their page is settled', async () => {
      const { id } = await scene.planned({ devices: 3 });
      const page = await scene.job();
      await scene.settlePart(page, 1, 'retry');
      expect(await scene.counts(id)).toEqual({ planned: 3, retrying: 1 });
      scene.nowMs += 1000;
      const [retry, ...more] = await scene.claim();
      expect(more).toEqual([]);
      expect(retry?.devices).toEqual(page.devices.slice(0, 1));
      if (retry !== undefined) expect(await scene.finish(retry)).toBe('under-way');
      const rest = { ...page, devices: page.devices.slice(1) };
      expect(await scene.finish(rest)).toBe('finished');
      expect(await scene.counts(id)).toEqual({ planned: 3, accepted: 3 });
    });

    it('counts deleted devices of a page only when the page is settled', async () => {
      const { id, recipients } = await scene.planned({ devices: 3 });
      const job = await scene.job();
      await opened.devices.delete({
        instance: scene.instance,
        id: recipients[2]?.id ?? newDeviceId('fcm'),
      });
      await scene.settlePart(job, 1);
      expect(await scene.counts(id)).toEqual({ planned: 3, accepted: 1 });
      expect(await scene.finish(job)).toBe('finished');
      expect(await scene.counts(id)).toEqual({ planned: 3, accepted: 2, failed: 1 });
    });

    it('cancels only the rest of a page', async () => {
      const { id, recipients } = await scene.planned({ devices: 4 });
      const job = await scene.job();
      await scene.settlePart(job, 1);
      await opened.publishes.cancel({ instance: scene.instance, id, nowMs: NOW_MS });
      expect(await scene.settlePart(job, 2)).toBe('cancelled');
      expect(await scene.counts(id)).toEqual({ planned: 4, accepted: 2 });
      scene.nowMs += LEASE_MS;
      expect(await scene.claim()).toEqual([]);
      expect(await scene.counts(id)).toEqual({ planned: 4, accepted: 2, cancelled: 2 });
      const [first, , third] = recipients;
      const pageFor = async (device: typeof first) =>
        (await scene.story(id, device?.id ?? newDeviceId('fcm'))).page;
      expect([await pageFor(first), await pageFor(third)]).toEqual(['delivered', 'cancelled']);
    });

    it('shows that a device was accepted while others of its page are in flight', async () => {
      const { id, recipients } = await scene.planned({ devices: 2 });
      await scene.settlePart(await scene.job(), 1);
      const storyOf = (at: number) => scene.story(id, recipients[at]?.id ?? newDeviceId('fcm'));
      expect(await storyOf(0)).toMatchObject({
        page: 'delivered',
        events: [{ what: 'accepted', atMs: NOW_MS }],
      });
      expect(await storyOf(1)).toMatchObject({ page: 'waiting', events: [] });
    });

    it('returns immediately which users were reached', async () => {
      const target = { kind: 'users', names: ['ann', 'bob'] } as const;
      await scene.device({}, 'ann');
      await scene.device({}, 'bob');
      const { number } = await scene.planned({ devices: 0, target });
      await scene.settlePart(await scene.job(), 1);
      expect(await opened.stories.usersReached(number)).toEqual({
        delivered: ['ann'],
        failed: [],
      });
    });

    it('records some retries of a job, and leaves the others claimed', async () => {
      const { id, recipients } = await scene.planned({ devices: 3 });
      await scene.deliver('retry', 0);
      const job = await scene.job();
      expect(await scene.settlePart(job, 2)).toBe('under-way');
      expect(await scene.counts(id)).toEqual({ planned: 3, accepted: 2, retrying: 1 });
      expect(await scene.claim()).toEqual([]);
      scene.nowMs += LEASE_MS;
      const again = await scene.job(other);
      expect(again.devices).toEqual(numbersOf(recipients).slice(2));
      expect(await scene.finish(again, 'accepted', 0, other)).toBe('finished');
      expect(await scene.counts(id)).toEqual({ planned: 3, accepted: 3 });
    });

    it('are recorded for many pages at the same time', async () => {
      const { id } = await scene.planned({ devices: 40, perPage: 2 });
      const jobs = await scene.claim();
      const kept = await Promise.all(jobs.map((job) => scene.settlePart(job, 1)));
      expect(new Set(kept)).toEqual(new Set(['under-way']));
      expect(await scene.counts(id)).toEqual({ planned: 40, accepted: 20 });
      const ends = await Promise.all(jobs.map((job) => scene.finish(job)));
      expect(ends.filter((end) => end === 'finished')).toHaveLength(1);
      expect(await scene.counts(id)).toEqual({ planned: 40, accepted: 40 });
    });
  });
}

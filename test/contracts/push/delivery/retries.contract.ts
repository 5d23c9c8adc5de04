import { beforeEach, describe, expect, it } from 'bun:test';
import type { DeliveryStore } from '../../../../src/push/delivering/ports.ts';
import type { RetryCursor, WaitingRetries } from '../../../../src/push/model/delivery.ts';
import { newDeviceId } from '../../../../src/push/model/device-id.ts';
import { type DeliveryScene, LEASE_MS, NOW_MS, resultOf } from './delivery-scene.ts';
import { type DeliverySetup, numbersOf, type OpenDeliveryStores } from './delivery-setup.ts';

/** What the pipeline expects of any job store, for retries and single devices. */
export function retriesContract(current: () => DeliverySetup): void {
  let opened: OpenDeliveryStores;
  let store: DeliveryStore;
  let other: DeliveryStore;
  let scene: DeliveryScene;
  beforeEach(() => {
    ({ opened, store, other, scene } = current());
  });
  const newScene = () => current().newScene();

  describe('retries', () => {
    it('are claimed when they are due, with the attempts so far', async () => {
      const { id, recipients } = await scene.planned({ devices: 3 });
      expect(await scene.deliver('retry', 5000)).toBe('under-way');
      expect(await scene.counts(id)).toEqual({ planned: 3, retrying: 3 });
      scene.nowMs += 4999;
      expect(await scene.claim()).toEqual([]);
      scene.nowMs += 1;
      const [job, ...more] = await scene.claim();
      expect(more).toEqual([]);
      expect(job).toMatchObject({
        what: 'retries',
        platform: 'fcm',
        retries: recipients.map(({ number }) => ({ device: number, attempts: 1 })),
        publish: { id },
        devices: numbersOf(recipients),
      });
      expect(await scene.claim(9, other)).toEqual([]);
    });

    it('are counted, and the last finishes the publish', async () => {
      const { id } = await scene.planned({ devices: 2 });
      await scene.deliver('retry', 1000);
      scene.nowMs += 1000;
      expect(await scene.deliver('retry', 2000)).toBe('under-way');
      expect(await scene.counts(id)).toEqual({ planned: 2, retrying: 2 });
      scene.nowMs += 2000;
      const job = await scene.job();
      expect(job.what === 'retries' && job.retries[0]?.attempts).toBe(2);
      expect(await scene.finish(job, 'accepted')).toBe('finished');
      expect(await scene.counts(id)).toEqual({ planned: 2, accepted: 2 });
      expect((await scene.status(id)).reasons).toEqual([]);
    });

    it('are claimed again after the claim has expired, and recorded once', async () => {
      const { id } = await scene.planned({ devices: 2 });
      await scene.deliver('retry', 0);
      const job = await scene.job();
      scene.nowMs += LEASE_MS;
      const again = await scene.job(other);
      expect(again.devices).toEqual(job.devices);
      expect(await scene.finish(again, 'retry', 1000, other)).toBe('under-way');
      expect(await scene.finish(job, 'failed')).toBe('stale');
      expect(await scene.counts(id)).toEqual({ planned: 2, retrying: 2 });
      scene.nowMs += 1000;
      expect(await scene.deliver('accepted')).toBe('finished');
      expect(await scene.counts(id)).toEqual({ planned: 2, accepted: 2 });
    });

    it('do not mistake a repeated result for that of the next attempt', async () => {
      const { id } = await scene.planned({ devices: 2 });
      await scene.deliver('retry', 0);
      const job = await scene.job();
      expect(await scene.finish(job, 'retry', 0)).toBe('under-way');
      // The answer was lost, so the result is repeated, while another server makes the next attempt.
      const next = await scene.job(other);
      expect(await scene.finish(job, 'retry', 0)).toBe('stale');
      expect(await scene.finish(next, 'accepted', 0, other)).toBe('finished');
      expect(await scene.counts(id)).toEqual({ planned: 2, accepted: 2 });
    });

    it('are grouped into jobs by publish and platform, up to a limit', async () => {
      await scene.device({ platform: 'web' });
      const first = await scene.planned({ devices: 5 });
      const second = await scene.planned({ devices: 0 });
      for (const job of await scene.claim()) await scene.finish(job, 'retry', 0);
      const jobs = await store.claimJobs({
        nowMs: NOW_MS,
        untilMs: NOW_MS + LEASE_MS,
        limit: 10,
        devicesPerJob: 3,
        except: [],
      });
      for (const { what, devices } of jobs) {
        expect(what).toBe('retries');
        expect(devices.length).toBeLessThanOrEqual(3);
      }
      const of = (id: string) =>
        jobs
          .filter(({ publish }) => publish.id === id)
          .flatMap(({ devices }) => devices)
          .sort((a, b) => a - b);
      expect(of(first.id)).toEqual(numbersOf(first.recipients));
      expect(of(second.id)).toEqual(numbersOf(first.recipients));
      const web = jobs.filter((job) => job.what === 'retries' && job.platform === 'web');
      expect(web.map(({ devices }) => devices.length)).toEqual([1, 1]);
    });

    it('take turns with pages of the same instance', async () => {
      await scene.planned({ devices: 4, perPage: 1 });
      for (const job of await scene.claim()) await scene.finish(job, 'retry', 0);
      const { pages } = await scene.planned({ devices: 4, perPage: 2 });
      expect(pages).toHaveLength(4);
      const kinds: string[] = [];
      for (let count = 0; count < 4; count += 1) kinds.push((await scene.job()).what);
      expect(kinds).toContain('page');
      expect(kinds).toContain('retries');
      expect((await scene.claim(4)).length).toBeGreaterThan(0);
    });

    it('can be brought forward in pieces', async () => {
      const { id, recipients } = await scene.planned({ devices: 5 });
      await scene.deliver('retry', 600_000);
      await scene.planned({ devices: 0, platform: 'web' });
      const waiting = {
        instance: scene.instance,
        platform: 'fcm',
        reason: 'because-retry',
      } as const;
      scene.nowMs += 1000;
      const bring = async (
        changes: Partial<WaitingRetries> = {},
        limit = 2,
        after?: RetryCursor,
      ) => {
        const change = { waiting: { ...waiting, ...changes }, nowMs: scene.nowMs, limit, after };
        return (await store.bringForward(change)).next;
      };
      const retries = async () =>
        (await scene.claim()).flatMap((job) => (job.what === 'retries' ? job : []));
      // None of these matches.
      await bring({ reason: 'because-failed' }, 100);
      await bring({ platform: 'web' }, 100);
      await bring({ instance: (await newScene()).instance }, 100);
      expect(await retries()).toEqual([]);

      const numbers = numbersOf(recipients);
      const second = await bring();
      expect(second).toEqual({
        dueAtMs: NOW_MS + 600_000,
        publish: expect.any(Number),
        device: numbers[1] ?? 0,
      });
      expect((await retries()).flatMap(({ devices }) => devices)).toEqual(numbers.slice(0, 2));
      const fourth = await bring({}, 2, second);
      expect(fourth?.device).toBe(numbers[3]);
      expect(await bring({}, 2, fourth)).toBeUndefined();
      const jobs = await retries();
      expect(jobs.flatMap(({ devices }) => devices)).toEqual(numbers.slice(2));
      for (const job of jobs) await scene.finish(job, 'accepted');
      expect(await scene.counts(id)).toEqual({ planned: 5, accepted: 3, retrying: 2 });
    });

    it('can be brought forward in a limited number, those due first', async () => {
      const { recipients } = await scene.planned({ devices: 5 });
      await scene.deliver('retry', 600_000);
      const waiting = {
        instance: scene.instance,
        platform: 'fcm',
        reason: 'because-retry',
      } as const;
      scene.nowMs += 1000;
      const bring = (most: number, after?: RetryCursor) =>
        store.bringForward({ waiting, nowMs: scene.nowMs, limit: 100, most, after });
      const claimed = async () =>
        (await scene.claim()).flatMap(({ devices }) => devices).sort((a, b) => a - b);
      const numbers = numbersOf(recipients);
      const first = await bring(2);
      expect(first).toMatchObject({ devices: 2, next: { device: numbers[1] } });
      expect(await claimed()).toEqual(numbers.slice(0, 2));
      expect(await bring(100, first.next)).toEqual({ devices: 3, next: undefined });
      expect(await claimed()).toEqual(numbers.slice(2));
      expect(await bring(100)).toEqual({ devices: 0, next: undefined });
    });

    it('stay claimed when others are brought forward', async () => {
      const { recipients } = await scene.planned({ devices: 2 });
      await scene.deliver('retry', 0);
      const job = await scene.job();
      const waiting = {
        instance: scene.instance,
        platform: 'fcm',
        reason: 'because-retry',
      } as const;
      scene.nowMs += 1000;
      expect(await store.bringForward({ waiting, nowMs: scene.nowMs, limit: 100 })).toEqual({
        devices: 0,
        next: undefined,
      });
      expect(await scene.claim(9, other)).toEqual([]);
      expect(await scene.finish(job, 'accepted')).toBe('finished');
      expect(recipients).toHaveLength(2);
    });

    it('count a deleted device as failed', async () => {
      const { id, recipients } = await scene.planned({ devices: 2 });
      await scene.deliver('retry', 0);
      await opened.devices.delete({
        instance: scene.instance,
        id: recipients[0]?.id ?? newDeviceId('fcm'),
      });
      expect(await scene.deliver('accepted')).toBe('finished');
      expect(await scene.counts(id)).toEqual({ planned: 2, accepted: 1, failed: 1 });
    });

    it('are never claimed twice, with many concurrent callers', async () => {
      const { recipients } = await scene.planned({ devices: 60 });
      await scene.deliver('retry', 0);
      const claims = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          (index % 2 === 0 ? store : other).claimJobs({
            nowMs: NOW_MS,
            untilMs: NOW_MS + LEASE_MS,
            limit: 1,
            devicesPerJob: 2,
            except: [],
          }),
        ),
      );
      const devices = claims.flat().flatMap(({ devices }) => devices);
      expect(new Set(devices).size).toBe(devices.length);
      devices.push(...(await scene.claim()).flatMap(({ devices }) => devices));
      expect(devices.sort((a, b) => a - b)).toEqual(numbersOf(recipients));
    });
  });

  describe('dead tokens', () => {
    it('delete the device, and record why', async () => {
      const { id, recipients } = await scene.planned({ devices: 2 });
      const [dead] = recipients;
      if (dead === undefined) throw new Error('no device');
      const job = await scene.job();
      const results = recipients.map((one) =>
        resultOf(one === dead ? 'pruned' : 'accepted', one, 1, 0),
      );
      expect(await store.settle({ job, results, nowMs: NOW_MS })).toBe('finished');
      expect(await scene.counts(id)).toEqual({ planned: 2, accepted: 1, pruned: 1 });
      expect(await opened.devices.get({ instance: scene.instance, id: dead.id })).toBeUndefined();
      expect(await scene.story(id, dead.id)).toMatchObject({
        removed: { atMs: NOW_MS, reason: 'because-pruned', words: 'so pruned' },
        page: 'delivered',
        matches: false,
        events: [{ what: 'pruned', atMs: NOW_MS, reason: 'because-pruned', attempts: 1 }],
      });
    });

    it('do not delete a device that has registered again since the attempt', async () => {
      const again = await scene.device();
      await scene.planned({ devices: 0 });
      const job = await scene.job();
      const recipients = await opened.audience.recipients(scene.instance, job.devices);
      const { instance } = scene;
      const device = { ...again, id: newDeviceId('fcm') };
      await opened.devices.register({ instance, device, nowMs: NOW_MS + 1 });
      const results = recipients.map((one) => resultOf('pruned', one, 1, 0));
      expect(await store.settle({ job, results, nowMs: NOW_MS })).toBe('finished');
      expect(await opened.devices.get({ instance: scene.instance, id: again.id })).toBeDefined();
    });

    it('do not delete a device that has another token by now', async () => {
      const device = await scene.device();
      const { id } = await scene.planned({ devices: 0 });
      const job = await scene.job();
      const recipients = await opened.audience.recipients(scene.instance, job.devices);
      const token = { token: 'another', identity: 'another' };
      await opened.devices.setToken({
        instance: scene.instance,
        id: device.id,
        ...token,
        nowMs: NOW_MS,
      });
      const results = recipients.map((one) => resultOf('pruned', one, 1, 0));
      await store.settle({ job, results, nowMs: NOW_MS });
      expect(await opened.devices.get({ instance: scene.instance, id: device.id })).toBeDefined();
      expect(await scene.counts(id)).toEqual({ planned: 1, pruned: 1 });
      expect(await scene.story(id, device.id)).toMatchObject({
        removed: undefined,
        matches: true,
        events: [{ what: 'pruned' }],
      });
    });

    it('delete the device even if the results are too late to be counted', async () => {
      const { id, recipients } = await scene.planned({ devices: 1 });
      const job = await scene.job();
      await scene.finish(job, 'accepted');
      expect(await scene.finish(job, 'pruned')).toBe('stale');
      const [dead] = recipients;
      expect(
        await opened.devices.get({ instance: scene.instance, id: dead?.id ?? newDeviceId('fcm') }),
      ).toBe(undefined);
      expect(await scene.counts(id)).toEqual({ planned: 1, accepted: 1 });
    });

    it('delete all devices of a page', async () => {
      const { id } = await scene.planned({ devices: 700 });
      expect(await scene.deliver('pruned')).toBe('finished');
      expect(await scene.recipients({ kind: 'interests', names: ['hello'] })).toEqual([]);
      expect(await scene.counts(id)).toEqual({ planned: 700, pruned: 700 });
    });
  });

  describe('untrusted devices', () => {
    const trusted = async () =>
      (await scene.recipients({ kind: 'interests', names: ['hello'] })).map(
        (recipient) => recipient.isTrusted,
      );

    it('are marked when a gateway accepts them, at the first or a later attempt', async () => {
      await scene.planned({ devices: 2, perPage: 1 });
      expect(await trusted()).toEqual([false, false]);
      await scene.deliver('accepted');
      expect(await trusted()).toEqual([true, false]);
      await scene.deliver('retry', 0);
      expect(await trusted()).toEqual([true, false]);
      await scene.deliver('accepted');
      expect(await trusted()).toEqual([true, true]);
    });

    it('are not marked if the attempt failed, or if they have another token by now', async () => {
      await scene.planned({ devices: 3, perPage: 1 });
      await scene.deliver('failed');
      await scene.deliver('expired');
      const job = await scene.job();
      const recipients = await opened.audience.recipients(scene.instance, job.devices);
      const results = recipients.map((recipient) => resultOf('accepted', recipient, 1, NOW_MS));
      const other = { token: 'other', identity: crypto.randomUUID() };
      for (const { id } of recipients) {
        await opened.devices.setToken({ instance: scene.instance, id, ...other, nowMs: NOW_MS });
      }
      await store.settle({ job, results, nowMs: NOW_MS });
      expect(await trusted()).toEqual([false, false, false]);
    });
  });
}

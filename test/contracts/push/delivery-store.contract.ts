import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'bun:test';
import type { DeliveryStore } from '../../../src/push/delivering/ports.ts';
import {
  DEVICE_REMOVED,
  type Job,
  type RetryCursor,
  type WaitingRetries,
} from '../../../src/push/model/delivery.ts';
import { newDeviceId } from '../../../src/push/model/device-id.ts';
import { newPublishId } from '../../../src/push/model/publish-id.ts';
import { StoreLost } from '../../../src/push/store-faults.ts';
import {
  DeliveryScene,
  type DeliveryStores,
  LEASE_MS,
  NOW_MS,
  resultOf,
} from './delivery-scene.ts';
import { newDevice } from './device-store.contract.ts';

/** Stores to test. */
export interface OpenDeliveryStores extends DeliveryStores, AsyncDisposable {
  newInstance(): Promise<number>;
  /** Deletes it, as an operator does: what it has is left for removal. */
  deleteInstance(instance: number): Promise<void>;
}

/** What whoever plans and delivers publishes expects of any delivery store. */
export function deliveryStoreContract(name: string, open: () => Promise<OpenDeliveryStores>): void {
  describe(`${name} keeps the delivery store contract`, () => {
    let opened: OpenDeliveryStores;
    let store: DeliveryStore;
    let other: DeliveryStore;
    let scene: DeliveryScene;
    const instances: number[] = [];
    beforeAll(async () => {
      opened = await open();
      ({ store, other } = opened);
    });
    afterAll(() => opened[Symbol.asyncDispose]());
    beforeEach(async () => {
      scene = await newScene();
    });
    // Nothing is left to be claimed by the next test.
    afterEach(async () => {
      for (const instance of instances.splice(0)) await opened.deleteInstance(instance);
    });

    async function newScene(): Promise<DeliveryScene> {
      const instance = await opened.newInstance();
      instances.push(instance);
      return new DeliveryScene(opened, instance);
    }
    const plan = (nowMs: number, by = store, most = 100) =>
      by.claimPlans({ nowMs, untilMs: nowMs + LEASE_MS, limit: most, except: [] });
    const ids = (claims: Awaited<ReturnType<typeof plan>>) =>
      claims.map(({ publish }) => publish.id);
    const pagesOf = (jobs: readonly Job[]) =>
      jobs.flatMap((job) => (job.what === 'page' ? job.page : []));
    const numbersOf = (recipients: readonly { readonly number: number }[]) =>
      recipients.map(({ number }) => number);

    describe('of planning', () => {
      it('hands out a publish when it is due, to one server', async () => {
        const accepted = await scene.accept({ sendAtMs: NOW_MS + 1000 });
        expect(await plan(NOW_MS + 999)).toEqual([]);
        const [claim] = await plan(NOW_MS + 1000);
        expect(claim).toEqual({
          publish: {
            number: expect.any(Number),
            id: accepted.id,
            instance: scene.instance,
            kind: 'interests',
            body: accepted.body,
            createdAtMs: NOW_MS,
            dueAtMs: NOW_MS + 1000,
          },
          after: 0,
        });
        expect(await plan(NOW_MS + 1000)).toEqual([]);
        expect(await plan(NOW_MS + 1000, other)).toEqual([]);
      });

      it('hands it out again when the claim has ended, from where planning had come to', async () => {
        for (let index = 0; index < 4; index += 1) await scene.device();
        const { number, id } = await scene.claimed();
        const recipients = await scene.recipients({ kind: 'interests', names: ['hello'] });
        expect(await scene.addPage(number, 0, recipients.slice(0, 2))).toBeNumber();
        expect(await plan(NOW_MS + LEASE_MS - 1, other)).toEqual([]);
        const claims = await plan(NOW_MS + LEASE_MS, other);
        expect(claims).toMatchObject([{ publish: { id }, after: recipients[1]?.number }]);
      });

      it('goes on at one place only', async () => {
        for (let index = 0; index < 4; index += 1) await scene.device();
        const { number, id } = await scene.claimed();
        const recipients = await scene.recipients({ kind: 'interests', names: ['hello'] });
        const added = await Promise.all(
          Array.from({ length: 6 }, () => scene.addPage(number, 0, recipients.slice(0, 2))),
        );
        expect(added.filter((page) => page !== undefined)).toHaveLength(1);
        const after = recipients[1]?.number ?? 0;
        expect(await other.endPlanning({ publish: number, after: 0, nowMs: NOW_MS })).toBe('stale');
        expect(await scene.addPage(number, after, recipients.slice(2))).toBeNumber();
        expect(await scene.addPage(number, after, recipients.slice(2))).toBeUndefined();
        expect(await scene.counts(id)).toEqual({ planned: 4 });
      });

      it('remembers how far it has come, past devices that are in no page', async () => {
        const device = await scene.device();
        const { number, id } = await scene.claimed();
        const [first] = await scene.recipients({ kind: 'interests', names: ['hello'] });
        const devices = [first?.number ?? 0];
        const upTo = (first?.number ?? 0) + 5;
        const page = { after: 0, upTo, devices, planned: { apns: 0, fcm: 1, web: 0 } };
        await store.addPage({ publish: number, page: page, claimedUntilMs: undefined });
        expect(await plan(NOW_MS + LEASE_MS)).toMatchObject([{ after: upTo }]);
        expect(await store.endPlanning({ publish: number, after: upTo - 5, nowMs: NOW_MS })).toBe(
          'stale',
        );
        expect(await store.endPlanning({ publish: number, after: upTo, nowMs: NOW_MS })).toBe(
          'under-way',
        );
        expect((await scene.story(id, device.id)).page).toBe('waiting');
      });

      it('ends with its last page, in one go', async () => {
        for (let index = 0; index < 4; index += 1) await scene.device();
        const { number, id } = await scene.claimed();
        const recipients = await scene.recipients({ kind: 'interests', names: ['hello'] });
        const page = (from: number, to: number) => {
          const devices = numbersOf(recipients).slice(from, to);
          return {
            after: from === 0 ? 0 : (numbersOf(recipients)[from - 1] ?? 0),
            upTo: devices.at(-1) ?? 0,
            devices,
            planned: { apns: 0, fcm: devices.length, web: 0 },
          };
        };
        expect(
          await store.addPage({ publish: number, page: page(0, 2), claimedUntilMs: undefined }),
        ).toBeNumber();
        expect((await scene.status(id)).state).toBe('planning');
        const last = { ...page(2, 4), isLast: true };
        expect(
          await store.addPage({ publish: number, page: last, claimedUntilMs: undefined }),
        ).toBeNumber();
        expect((await scene.status(id)).state).toBe('delivering');
        scene.nowMs += LEASE_MS;
        expect(await plan(scene.nowMs)).toEqual([]);
        expect(
          await store.addPage({ publish: number, page: last, claimedUntilMs: undefined }),
        ).toBeUndefined();
        expect(await store.endPlanning({ publish: number, after: last.after, nowMs: NOW_MS })).toBe(
          'stale',
        );
        expect(await scene.deliver()).toBe('under-way');
        expect(await scene.deliver()).toBe('finished');
        expect(await scene.counts(id)).toEqual({ planned: 4, accepted: 4 });
      });

      it('ends once, and the publish with it where nothing is left', async () => {
        const { number, id } = await scene.claimed();
        expect((await scene.status(id)).state).toBe('planning');
        const ends = await Promise.all([
          store.endPlanning({ publish: number, after: 0, nowMs: NOW_MS }),
          other.endPlanning({ publish: number, after: 0, nowMs: NOW_MS }),
        ]);
        expect(ends.sort()).toEqual(['finished', 'stale']);
        expect((await scene.status(id)).state).toBe('finished');
        expect(await plan(NOW_MS + LEASE_MS)).toEqual([]);
      });

      it('leaves the publish under way as long as a page waits', async () => {
        const { id } = await scene.planned({ devices: 4, perPage: 2 });
        expect((await scene.status(id)).state).toBe('delivering');
        expect(await scene.deliver()).toBe('under-way');
        expect(await scene.deliver()).toBe('finished');
        expect((await scene.status(id)).state).toBe('finished');
      });

      it('finishes the publish where all that was planned is delivered already', async () => {
        await scene.device();
        const { number, id } = await scene.claimed();
        const recipients = await scene.recipients({ kind: 'interests', names: ['hello'] });
        await scene.addPage(number, 0, recipients);
        expect(await scene.deliver()).toBe('under-way');
        const last = recipients.at(-1)?.number ?? 0;
        expect(await store.endPlanning({ publish: number, after: last, nowMs: NOW_MS })).toBe(
          'finished',
        );
        expect(await scene.counts(id)).toEqual({ planned: 1, accepted: 1 });
      });

      it('takes of each instance in turn, and of one the publish that waits longest', async () => {
        const second = await newScene();
        const [late, early] = [
          await scene.accept({ createdAtMs: NOW_MS - 1 }),
          await scene.accept({ createdAtMs: NOW_MS - 9 }),
        ];
        const [theirs, next] = [
          await second.accept({ createdAtMs: NOW_MS }),
          await second.accept({ createdAtMs: NOW_MS }),
        ];
        expect(ids(await plan(NOW_MS, store, 1))).toEqual([early.id]);
        expect(ids(await plan(NOW_MS, store, 1))).toEqual([theirs.id]);
        expect(ids(await plan(NOW_MS, store, 9))).toEqual([late.id, next.id]);
      });

      it('never hands out one publish twice, however many ask at once', async () => {
        const accepted = await Promise.all(Array.from({ length: 40 }, () => scene.accept()));
        const claims = await Promise.all(
          Array.from({ length: 20 }, (_, index) =>
            plan(NOW_MS, index % 2 === 0 ? store : other, 3),
          ),
        );
        const claimed = claims.flatMap(ids);
        expect(new Set(claimed).size).toBe(claimed.length);
        claimed.push(...ids(await plan(NOW_MS)));
        expect(claimed.sort()).toEqual(accepted.map(({ id }) => id).sort());
      });
    });

    describe('of pages', () => {
      it('hands out a page to one server until the claim ends', async () => {
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

      it('leaves a page to whoever planned it, for a while', async () => {
        await scene.device();
        const { number } = await scene.claimed();
        const recipients = await scene.recipients({ kind: 'interests', names: ['hello'] });
        const page = await scene.addPage(number, 0, recipients, NOW_MS + 500);
        expect(await scene.claim(9, other)).toEqual([]);
        scene.nowMs += 500;
        expect(pagesOf(await scene.claim(9, other))).toEqual([page ?? 0]);
      });

      it('keeps the results of a page once, of whoever has claimed it last', async () => {
        const { id } = await scene.planned({ devices: 3, perPage: 2 });
        const job = await scene.job();
        scene.nowMs += LEASE_MS;
        const all = await scene.claim(9, other);
        const again = all.find(({ devices }) => devices.length === 2) ?? job;
        expect(again).toEqual({
          ...job,
          claimedUntilMs: scene.nowMs + LEASE_MS,
        });
        // The first server was slow, not dead; the other one is at all of it again.
        expect(await scene.finish(job, 'accepted')).toBe('stale');
        expect(await scene.finish(again, 'failed', 0, other)).toBe('under-way');
        expect(await scene.finish(again, 'accepted', 0, other)).toBe('stale');
        expect(await scene.finish(job, 'accepted')).toBe('stale');
        expect(await scene.counts(id)).toEqual({ planned: 3, failed: 2 });
        expect((await scene.status(id)).reasons).toEqual([
          { platform: 'fcm', reason: 'because-failed', devices: 2 },
        ]);
      });

      it('goes on after a crash with what was not finished', async () => {
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

      it('never hands out one page twice, however many ask at once', async () => {
        const { pages } = await scene.planned({ devices: 60, perPage: 1 });
        const claims = await Promise.all(
          Array.from({ length: 20 }, (_, index) => scene.claim(2, index % 2 === 0 ? store : other)),
        );
        const claimed = claims.flatMap(pagesOf);
        expect(new Set(claimed).size).toBe(claimed.length);
        claimed.push(...pagesOf(await scene.claim()));
        expect(claimed.sort((a, b) => a - b)).toEqual([...pages]);
      });

      it('does not keep an instance waiting for the many pages of another', async () => {
        const second = await newScene();
        await scene.planned({ devices: 50, perPage: 1, dueAtMs: NOW_MS - 1000 });
        const theirs = await second.planned({ devices: 1 });
        const of = (jobs: readonly Job[]) => jobs.map(({ publish }) => publish.instance);
        const first = [await scene.job(), await scene.job()];
        expect(of(first).sort()).toEqual([scene.instance, second.instance].sort());
        expect(await second.counts(theirs.id)).toEqual({ planned: 1 });
      });

      it('shares out what is wanted among instances', async () => {
        const [second, third] = [await newScene(), await newScene()];
        await scene.planned({ devices: 9, perPage: 1 });
        await second.planned({ devices: 2, perPage: 1 });
        await third.planned({ devices: 9, perPage: 1 });
        const jobs = await scene.claim(10);
        const byInstance = Map.groupBy(jobs, ({ publish }) => publish.instance);
        expect([...byInstance.values()].map(({ length }) => length).sort()).toEqual([2, 4, 4]);
      });

      it('leaves out instances that whoever asks has enough of', async () => {
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

      it('takes the pages of the publish first that was due first', async () => {
        const late = await scene.planned({ devices: 2, perPage: 1, dueAtMs: NOW_MS - 1 });
        const early = await scene.planned({ devices: 0, perPage: 1, dueAtMs: NOW_MS - 2 });
        expect(pagesOf(await scene.claim(2))).toEqual([...early.pages]);
        expect(pagesOf(await scene.claim(2))).toEqual([...late.pages]);
      });

      it('finishes a publish once, however its last pages come together', async () => {
        for (let round = 0; round < 5; round += 1) {
          const { id } = await scene.planned({ devices: round === 0 ? 8 : 0, perPage: 1 });
          const jobs = await scene.claim();
          const ends = await Promise.all(
            jobs.flatMap((job) => [
              scene.finish(job, 'accepted'),
              scene.finish(job, 'accepted'),
              // Who has not claimed it has no word in it.
              scene.finish(job, 'failed', 0, other),
            ]),
          );
          expect(ends.filter((end) => end === 'finished')).toHaveLength(1);
          expect(ends.filter((end) => end === 'stale')).toHaveLength(16);
          expect(await scene.counts(id)).toEqual({ planned: 8, accepted: 8 });
        }
      });

      it('counts devices that are gone as failed', async () => {
        const { id, recipients } = await scene.planned({ devices: 3 });
        const [gone] = recipients;
        const job = await scene.job();
        await opened.devices.delete(scene.instance, gone?.id ?? newDeviceId('fcm'));
        expect(await scene.finish(job)).toBe('finished');
        expect(await scene.counts(id)).toEqual({ planned: 3, accepted: 2, failed: 1 });
        expect((await scene.status(id)).reasons).toEqual([
          { platform: 'fcm', reason: DEVICE_REMOVED, devices: 1 },
        ]);
      });

      it('counts each platform by itself', async () => {
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

      it('keeps a page of many devices that all have their own trouble', async () => {
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

    describe('of progress', () => {
      it('hands out a page after a crash without the devices whose results were kept', async () => {
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

      it('counts each device once, however often its result comes', async () => {
        const { id } = await scene.planned({ devices: 4 });
        const job = await scene.job();
        // The answer was lost, and the whole job is finished as if nothing was kept.
        await scene.settlePart(job, 2, 'failed');
        await scene.settlePart(job, 2, 'accepted');
        expect(await scene.finish(job, 'accepted')).toBe('finished');
        expect(await scene.counts(id)).toEqual({ planned: 4, accepted: 2, failed: 2 });
      });

      it('keeps nothing of a page that somebody else has claimed since', async () => {
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

      it('tries devices again before the rest of their page is done', async () => {
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

      it('counts devices of a page that are gone only when the page is done', async () => {
        const { id, recipients } = await scene.planned({ devices: 3 });
        const job = await scene.job();
        await opened.devices.delete(scene.instance, recipients[2]?.id ?? newDeviceId('fcm'));
        await scene.settlePart(job, 1);
        expect(await scene.counts(id)).toEqual({ planned: 3, accepted: 1 });
        expect(await scene.finish(job)).toBe('finished');
        expect(await scene.counts(id)).toEqual({ planned: 3, accepted: 2, failed: 1 });
      });

      it('cancels only what is left of a page', async () => {
        const { id, recipients } = await scene.planned({ devices: 4 });
        const job = await scene.job();
        await scene.settlePart(job, 1);
        await opened.publishes.cancel(scene.instance, id, NOW_MS);
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

      it('tells of a device that it was accepted while others of its page are under way', async () => {
        const { id, recipients } = await scene.planned({ devices: 2 });
        await scene.settlePart(await scene.job(), 1);
        const storyOf = (at: number) => scene.story(id, recipients[at]?.id ?? newDeviceId('fcm'));
        expect(await storyOf(0)).toMatchObject({
          page: 'delivered',
          events: [{ what: 'accepted', atMs: NOW_MS }],
        });
        expect(await storyOf(1)).toMatchObject({ page: 'waiting', events: [] });
      });

      it('knows at once which users were reached', async () => {
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

      it('keeps some of the retries of a job, and leaves the others claimed', async () => {
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

      it('is kept for many pages at the same time', async () => {
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

    describe('of retries', () => {
      it('hands them out when they are due, with the attempts so far', async () => {
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

      it('counts what becomes of them, until the last ends the publish', async () => {
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

      it('hands them out again when the claim has ended, and keeps them once', async () => {
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

      it('does not take the same word again for that of the next attempt', async () => {
        const { id } = await scene.planned({ devices: 2 });
        await scene.deliver('retry', 0);
        const job = await scene.job();
        expect(await scene.finish(job, 'retry', 0)).toBe('under-way');
        // The answer was lost, so it is said again, while somebody else is at the next attempt.
        const next = await scene.job(other);
        expect(await scene.finish(job, 'retry', 0)).toBe('stale');
        expect(await scene.finish(next, 'accepted', 0, other)).toBe('finished');
        expect(await scene.counts(id)).toEqual({ planned: 2, accepted: 2 });
      });

      it('puts those of one publish and platform into one job, at most so many', async () => {
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

      it('gives pages and retries of one instance each their turn', async () => {
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

      it('are due now where what they wait for was mended, some at a time', async () => {
        const { id, recipients } = await scene.planned({ devices: 5 });
        await scene.deliver('retry', 600_000);
        await scene.planned({ devices: 0, platform: 'web' });
        const waiting = {
          instance: scene.instance,
          platform: 'fcm',
          reason: 'because-retry',
        } as const;
        scene.nowMs += 1000;
        const bring = (changes: Partial<WaitingRetries> = {}, limit = 2, after?: RetryCursor) =>
          store.bringForward({
            waiting: { ...waiting, ...changes },
            nowMs: scene.nowMs,
            limit,
            after,
          });
        const retries = async () =>
          (await scene.claim()).flatMap((job) => (job.what === 'retries' ? job : []));
        // None of these is meant.
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

      it('stay with whoever has claimed them where what they wait for was mended', async () => {
        const { recipients } = await scene.planned({ devices: 2 });
        await scene.deliver('retry', 0);
        const job = await scene.job();
        const waiting = {
          instance: scene.instance,
          platform: 'fcm',
          reason: 'because-retry',
        } as const;
        scene.nowMs += 1000;
        expect(
          await store.bringForward({ waiting, nowMs: scene.nowMs, limit: 100 }),
        ).toBeUndefined();
        expect(await scene.claim(9, other)).toEqual([]);
        expect(await scene.finish(job, 'accepted')).toBe('finished');
        expect(recipients).toHaveLength(2);
      });

      it('counts a device that is gone as failed', async () => {
        const { id, recipients } = await scene.planned({ devices: 2 });
        await scene.deliver('retry', 0);
        await opened.devices.delete(scene.instance, recipients[0]?.id ?? newDeviceId('fcm'));
        expect(await scene.deliver('accepted')).toBe('finished');
        expect(await scene.counts(id)).toEqual({ planned: 2, accepted: 1, failed: 1 });
      });

      it('never hands out one device twice, however many ask at once', async () => {
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

    describe('of cancelling', () => {
      const cancel = (id: Parameters<DeliveryScene['status']>[0]) =>
        opened.publishes.cancel(scene.instance, id, scene.nowMs);

      it('plans no further', async () => {
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

      it('says which call has cancelled it, whether they come at once or later', async () => {
        const { id } = await scene.accept();
        const answers = await Promise.all([cancel(id), cancel(id), cancel(id)]);
        expect(answers.map((status) => status?.state)).toEqual(Array(3).fill('cancelled'));
        expect(answers.filter((status) => status?.isCancelledNow)).toHaveLength(1);
        expect(await cancel(id)).toEqual(await scene.status(id));
      });

      it('never plans what was cancelled before it was due', async () => {
        const { id } = await scene.accept({ sendAtMs: NOW_MS + 1000 });
        await cancel(id);
        expect(await plan(NOW_MS + 1000)).toEqual([]);
      });

      it('counts pages that wait, and lets those under way end as they do', async () => {
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

      it('tries no device again that a page under way would', async () => {
        const { id } = await scene.planned({ devices: 2 });
        const job = await scene.job();
        await cancel(id);
        expect(await scene.counts(id)).toEqual({ planned: 2 });
        expect(await scene.finish(job, 'retry', 0)).toBe('cancelled');
        expect(await scene.counts(id)).toEqual({ planned: 2, cancelled: 2 });
        expect(await scene.claim()).toEqual([]);
      });

      it('counts a page that was under way and never came back', async () => {
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

      it('counts retries that wait, and forgets them', async () => {
        const { id } = await scene.planned({ devices: 3 });
        await scene.deliver('retry', 1000);
        await cancel(id);
        expect(await scene.counts(id)).toEqual({ planned: 3, cancelled: 3 });
        scene.nowMs += 1000;
        expect(await scene.claim()).toEqual([]);
        expect(await scene.counts(id)).toEqual({ planned: 3, cancelled: 3 });
        expect(await store.nextDue()).toBeUndefined();
      });

      it('lets retries under way end as they do', async () => {
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

      it('counts retries that were under way and never came back', async () => {
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

      it('counts right while it is claimed, finished and cancelled at once', async () => {
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

      it('leaves a publish that is finished as it is', async () => {
        const { id } = await scene.planned({ devices: 1 });
        await scene.deliver();
        expect((await cancel(id))?.state).toBe('finished');
        expect(await scene.counts(id)).toEqual({ planned: 1, accepted: 1 });
      });
    });

    describe('of tokens that reach nobody', () => {
      it('deletes the device, and remembers why', async () => {
        const { id, recipients } = await scene.planned({ devices: 2 });
        const [dead] = recipients;
        if (dead === undefined) throw new Error('no device');
        const job = await scene.job();
        const results = recipients.map((one) =>
          resultOf(one === dead ? 'pruned' : 'accepted', one, 1, 0),
        );
        expect(await store.settle({ job: job, results: results, nowMs: NOW_MS })).toBe('finished');
        expect(await scene.counts(id)).toEqual({ planned: 2, accepted: 1, pruned: 1 });
        expect(await opened.devices.get(scene.instance, dead.id)).toBeUndefined();
        expect(await scene.story(id, dead.id)).toMatchObject({
          removed: { atMs: NOW_MS, reason: 'because-pruned', words: 'so pruned' },
          page: 'delivered',
          matches: false,
          events: [{ what: 'pruned', atMs: NOW_MS, reason: 'because-pruned', attempts: 1 }],
        });
      });

      it('leaves a device alone that has registered again', async () => {
        const device = await scene.device();
        await scene.planned({ devices: 0 });
        const job = await scene.job();
        const recipients = await opened.audience.recipients(scene.instance, job.devices);
        const { token, identity } = device;
        const again = await scene.device({ token, identity });
        const results = recipients.map((one) => resultOf('pruned', one, 1, 0));
        expect(await store.settle({ job: job, results: results, nowMs: NOW_MS })).toBe('finished');
        expect(await opened.devices.get(scene.instance, again.id)).toBeDefined();
      });

      it('leaves a device alone that has got another token', async () => {
        const device = await scene.device();
        const { id } = await scene.planned({ devices: 0 });
        const job = await scene.job();
        const recipients = await opened.audience.recipients(scene.instance, job.devices);
        const token = { token: 'another', identity: 'another' };
        await opened.devices.setToken(scene.instance, device.id, token, NOW_MS);
        const results = recipients.map((one) => resultOf('pruned', one, 1, 0));
        await store.settle({ job: job, results: results, nowMs: NOW_MS });
        expect(await opened.devices.get(scene.instance, device.id)).toBeDefined();
        expect(await scene.counts(id)).toEqual({ planned: 1, pruned: 1 });
        expect(await scene.story(id, device.id)).toMatchObject({
          removed: undefined,
          matches: true,
          events: [{ what: 'pruned' }],
        });
      });

      it('deletes it as well where the results came too late to be counted', async () => {
        const { id, recipients } = await scene.planned({ devices: 1 });
        const job = await scene.job();
        await scene.finish(job, 'accepted');
        expect(await scene.finish(job, 'pruned')).toBe('stale');
        const [dead] = recipients;
        expect(await opened.devices.get(scene.instance, dead?.id ?? newDeviceId('fcm'))).toBe(
          undefined,
        );
        expect(await scene.counts(id)).toEqual({ planned: 1, accepted: 1 });
      });

      it('deletes all of a page', async () => {
        const { id } = await scene.planned({ devices: 700 });
        expect(await scene.deliver('pruned')).toBe('finished');
        expect(await scene.recipients({ kind: 'interests', names: ['hello'] })).toEqual([]);
        expect(await scene.counts(id)).toEqual({ planned: 700, pruned: 700 });
      });
    });

    describe('of a device', () => {
      const event = (what: string, attempts = 1, reason = `because-${what}`) => ({
        atMs: scene.nowMs,
        what,
        reason,
        words: `so ${what}`,
        attempts,
      });

      it('tells that it is not in the audience', async () => {
        const outside = newDevice();
        await opened.devices.register(scene.instance, outside, NOW_MS);
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

      it('tells that it came to the audience too late, or has a platform without a payload', async () => {
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

      it('tells that its page waits, then that it was accepted', async () => {
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

      it('tells how often it was tried, and when it is tried again', async () => {
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

      it('tells that it failed, expired, or was gone', async () => {
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

      it('tells that its publish was cancelled', async () => {
        const devices = [await scene.device(), await scene.device()];
        const { id } = await scene.planned({ devices: 0, perPage: 1 });
        await scene.deliver('retry', 1000);
        const tried = event('retry');
        scene.nowMs += 10;
        await opened.publishes.cancel(scene.instance, id, scene.nowMs);
        const stories = () => Promise.all(devices.map((device) => scene.story(id, device.id)));
        const told = [
          {
            page: 'delivered',
            nextAttemptAtMs: undefined,
            events: [tried, { ...tried, what: 'cancelled', atMs: scene.nowMs }],
          },
          { page: 'cancelled', events: [] },
        ];
        expect(await stories()).toMatchObject(told);
        scene.nowMs += 1000;
        expect(await scene.claim()).toEqual([]);
        expect(await stories()).toMatchObject(told);
      });

      it('tells what the device has reported', async () => {
        const device = await scene.device();
        const { id } = await scene.planned({ devices: 0 });
        await scene.deliver();
        const report = (event: 'delivery' | 'open', atMs: number) =>
          opened.publishes.report(
            scene.instance,
            {
              event,
              publishId: id,
              deviceId: device.id,
              userId: undefined,
              timestampSeconds: 1,
              appInBackground: undefined,
              hasDisplayableContent: undefined,
              hasData: undefined,
            },
            atMs,
          );
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

      it('knows neither devices nor publishes of another instance', async () => {
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

    describe('of users', () => {
      it('tells who was reached, and whose gateways failed', async () => {
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
            ends[recipients.findIndex(({ number: device }) => device === job.devices[0])] ??
              'failed',
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

      it('keeps nobody of a publish to interests', async () => {
        await scene.device();
        const { number } = await scene.planned({ devices: 1 });
        await scene.deliver();
        expect(await opened.stories.usersReached(number)).toEqual({ delivered: [], failed: [] });
      });
    });

    describe('of claims', () => {
      it('lets this server extend its own', async () => {
        await scene.planned({ devices: 2 });
        await scene.deliver('retry', 0);
        const retries = await scene.job();
        await scene.planned({ devices: 1 });
        const page = await scene.job();
        const { number } = await scene.claimed();
        const held = { plans: [number], jobs: [retries, page] };
        await store.extend(held, NOW_MS + 2 * LEASE_MS);
        // Another server's word changes nothing.
        await other.extend(held, NOW_MS + 9 * LEASE_MS);
        scene.nowMs += 2 * LEASE_MS - 1;
        expect(await scene.claim(9, other)).toEqual([]);
        expect(await plan(scene.nowMs, other)).toEqual([]);
        scene.nowMs += 1;
        expect(await scene.claim(9, other)).toHaveLength(2);
        expect(await plan(scene.nowMs, other)).toHaveLength(1);
        // Nor does one that comes too late.
        await store.extend(held, scene.nowMs + 9 * LEASE_MS);
        scene.nowMs += LEASE_MS;
        expect(await scene.claim()).toHaveLength(2);
      });

      it('extends nothing that is done', async () => {
        await scene.planned({ devices: 1 });
        const job = await scene.job();
        await scene.finish(job);
        await store.extend({ plans: [], jobs: [job] }, NOW_MS + LEASE_MS);
        expect(await store.nextDue()).toBeUndefined();
      });

      it('end now where the clock was set back, and what was due by that clock is due', async () => {
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

      it('keeps no device waiting for longer where the clock was set back', async () => {
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

      it('gives back those of this server', async () => {
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

      it('keeps what is finished after it was given back', async () => {
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

    describe('of what waits', () => {
      it('knows when something is due', async () => {
        expect(await store.nextDue()).toBeUndefined();
        const { id } = await scene.accept({ sendAtMs: NOW_MS + 500 });
        expect(await store.nextDue()).toBe(NOW_MS + 500);
        await opened.publishes.cancel(scene.instance, id, NOW_MS);
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

      it('counts it', async () => {
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

      it('leaves out what a deleted instance has left behind', async () => {
        await scene.planned({ devices: 2, perPage: 1 });
        await scene.accept();
        await scene.deliver('retry', 0);
        await opened.deleteInstance(scene.instance);
        expect(await scene.claim()).toEqual([]);
        expect(await plan(NOW_MS)).toEqual([]);
        expect(await store.nextDue()).toBeUndefined();
      });
    });

    describe('of devices that were never accepted', () => {
      const acceptedBefore = async () =>
        (await scene.recipients({ kind: 'interests', names: ['hello'] })).map(
          (recipient) => recipient.acceptedBefore,
        );

      it('marks those that a gateway accepts, on a page or at a later attempt', async () => {
        await scene.planned({ devices: 2, perPage: 1 });
        expect(await acceptedBefore()).toEqual([false, false]);
        await scene.deliver('accepted');
        expect(await acceptedBefore()).toEqual([true, false]);
        await scene.deliver('retry', 0);
        expect(await acceptedBefore()).toEqual([true, false]);
        await scene.deliver('accepted');
        expect(await acceptedBefore()).toEqual([true, true]);
      });

      it('marks none whose attempt failed, nor one that has another token by now', async () => {
        await scene.planned({ devices: 3, perPage: 1 });
        await scene.deliver('failed');
        await scene.deliver('expired');
        const job = await scene.job();
        const recipients = await opened.audience.recipients(scene.instance, job.devices);
        const results = recipients.map((recipient) => resultOf('accepted', recipient, 1, NOW_MS));
        const other = { token: 'other', identity: crypto.randomUUID() };
        for (const { id } of recipients) {
          await opened.devices.setToken(scene.instance, id, other, NOW_MS);
        }
        await store.settle({ job: job, results: results, nowMs: NOW_MS });
        expect(await acceptedBefore()).toEqual([false, false, false]);
      });
    });

    it('does not call a device unknown when its instance is lost', async () => {
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
  });
}

import { beforeEach, describe, expect, it } from 'bun:test';
import type { DeliveryStore } from '../../../../src/push/delivering/ports.ts';
import type { DeviceResult, Job } from '../../../../src/push/model/delivery.ts';
import type { DeviceId, Recipient } from '../../../../src/push/model/device.ts';
import type { DevicePause } from '../../../../src/push/model/device-pause.ts';
import { type DeliveryScene, LEASE_MS, NOW_MS } from './delivery-scene.ts';
import type { DeliverySetup } from './delivery-setup.ts';

const HELLO = { kind: 'interests', names: ['hello'] } as const;
const PAUSE: DevicePause = { untilMs: NOW_MS + 60_000, failures: 3, sinceMs: NOW_MS - 5_000 };

/** What the pipeline expects of any store about devices that fail while others are accepted. */
export function pausedDevicesContract(current: () => DeliverySetup): void {
  describe('with a device that fails', () => pausedDevices(current));
}

function pausedDevices(current: () => DeliverySetup): void {
  let store: DeliveryStore;
  let other: DeliveryStore;
  let scene: DeliveryScene;
  let id: DeviceId;
  beforeEach(async () => {
    ({ store, other, scene } = current());
    ({ id } = await scene.device());
  });

  async function recipient(): Promise<Recipient> {
    const [first] = await scene.recipients(HELLO);
    if (first === undefined) throw new Error('there is no device');
    return first;
  }

  /** Publishes to the device, and claims the page. */
  async function newJob(): Promise<Job> {
    const publish = await scene.claimed();
    const one = await recipient();
    await scene.addPage(publish.number, 0, [one]);
    await store.endPlanning({ publish: publish.number, after: one.number, nowMs: scene.nowMs });
    return await scene.job();
  }

  /** The same many times, the oldest publish first. */
  async function newJobs(count: number): Promise<readonly Job[]> {
    const { number } = await recipient();
    const untilMs = scene.nowMs + LEASE_MS;
    await Promise.all(Array.from({ length: count }, () => scene.accept()));
    const terms = { nowMs: scene.nowMs, untilMs, limit: count, except: [] };
    const plans = await store.claimPlans(terms);
    const jobs = plans.map(async ({ publish }): Promise<Job> => {
      const page = await scene.addPage(publish.number, 0, [await recipient()], {
        claimedUntilMs: untilMs,
      });
      if (page === undefined) throw new Error('the page was not added');
      await store.endPlanning({ publish: publish.number, after: number, nowMs: scene.nowMs });
      return { what: 'page', page, publish, devices: [number], claimedUntilMs: untilMs };
    });
    return (await Promise.all(jobs)).sort((a, b) => a.publish.number - b.publish.number);
  }

  async function settle(job: Job, result: Partial<DeviceResult>, by = store) {
    const { number: device, platform, userId } = await recipient();
    const tried = { device, platform, userId, attempts: 0, words: 'http-429' };
    const results = [{ ...tried, ...result } as DeviceResult];
    return await by.settle({ job, results, nowMs: scene.nowMs });
  }

  /** The device of a job waits for the end of its pause. */
  const wait = (job: Job, afterMs: number) =>
    settle(job, { what: 'retry', reason: 'device-paused', dueAtMs: scene.nowMs + afterMs });

  async function pause(changes: Partial<DevicePause> = {}, token?: string): Promise<void> {
    const known = token ?? (await recipient()).token;
    await settle(await newJob(), {
      what: 'failed',
      reason: 'busy',
      pause: { token: known, ...PAUSE, ...changes },
    });
  }

  async function newToken(): Promise<void> {
    const { instance, nowMs } = scene;
    const identity = crypto.randomUUID();
    await scene.stores.devices.setToken({ instance, id, token: identity, identity, nowMs });
  }

  /** When the publish of a job is due at the device. */
  async function dueAfterMs({ publish }: Job): Promise<number | undefined> {
    const { nextAttemptAtMs } = await scene.story(publish.id, id);
    return nextAttemptAtMs && nextAttemptAtMs - scene.nowMs;
  }

  describe('the pause of a device', () => {
    it('is kept with its results, and read with the device', async () => {
      expect((await recipient()).pause).toBeUndefined();
      await pause();
      expect((await recipient()).pause).toEqual(PAUSE);
      const waiting = await newJob();
      await wait(waiting, 60_000);
      const story = await scene.story(waiting.publish.id, id);
      expect(story.pause).toEqual({ ...PAUSE, waiting: 1, cause: 'http-429' });
      const longer = { untilMs: PAUSE.untilMs + 1, failures: 4, sinceMs: PAUSE.sinceMs };
      await pause(longer);
      await pause({ ...PAUSE, failures: 1 });
      expect((await recipient()).pause).toEqual(longer);
    });

    it('ends when it is accepted, and not when it is accepted without that', async () => {
      await pause();
      await settle(await newJob(), { what: 'accepted' });
      expect((await recipient()).pause).toEqual(PAUSE);
      await settle(await newJob(), { what: 'accepted', endsPause: true });
      expect((await recipient()).pause).toBeUndefined();
    });

    it('is for its token only', async () => {
      await pause({}, 'an earlier token');
      expect((await recipient()).pause).toBeUndefined();
      await pause();
      await newToken();
      expect((await recipient()).pause).toBeUndefined();
    });
  });

  describe('publishes that wait for a device', () => {
    it('become due one after the other, the oldest first', async () => {
      const jobs = [await newJob(), await newJob(), await newJob(), await newJob()];
      const [first, second, third, fourth] = jobs as [Job, Job, Job, Job];
      await wait(first, 30_000);
      // Neither one that waits for something else counts, nor one that is over.
      await settle(second, { what: 'retry', reason: 'busy', dueAtMs: scene.nowMs + 1_000 });
      await wait(third, 30_000);
      await wait(fourth, 30_000);
      const due = () => Promise.all(jobs.map(dueAfterMs));
      expect(await due()).toEqual([30_000, 1_000, 31_000, 32_000]);
      scene.nowMs += 30_000;
      const claims = await scene.claim();
      const probe = claims.find(({ publish }) => publish.id === first.publish.id) as Job;
      await settle(probe, { what: 'accepted', endsPause: true });
      scene.nowMs += 1_000;
      const moved = await scene.job();
      expect(moved.publish.id).toBe(third.publish.id);
      await wait(moved, 5_000);
      expect(await dueAfterMs(third)).toBe(5_000);
      expect(await dueAfterMs(fourth)).toBe(1_000);
    });

    it('are at most 100: the oldest that no server has claimed is over, which the next claim tells', async () => {
      const jobs = await newJobs(100);
      for (const job of jobs) await wait(job, 60_000);
      scene.nowMs += 60_000;
      const [claimed] = await scene.claim(1, other);
      expect(claimed?.publish.id).toBe(jobs[0]?.publish.id as Job['publish']['id']);
      await wait(await newJob(), 60_000);
      const [ended, ...more] = await scene.claim();
      expect(more).toEqual([]);
      const { number } = await recipient();
      expect(ended).toMatchObject({
        what: 'retries',
        publish: { id: jobs[1]?.publish.id },
        retries: [{ device: number, attempts: 0, endedFor: 'too-many-for-device' }],
      });
      const over = { what: 'expired', reason: 'too-many-for-device', words: '' } as const;
      expect(await settle(ended as Job, over)).toBe('finished');
      expect(claimed).toMatchObject({ retries: [{ endedFor: undefined }] });
    });

    it('are due at once when it has a new token', async () => {
      const jobs = [await newJob(), await newJob(), await newJob()] as [Job, Job, Job];
      await wait(jobs[0], 0);
      const [claimed] = await scene.claim(1, other);
      await wait(jobs[1], 60_000);
      await settle(jobs[2], { what: 'retry', reason: 'busy', dueAtMs: scene.nowMs + 60_000 });
      await newToken();
      expect((await scene.claim()).map(({ publish }) => publish.id)).toEqual([jobs[1].publish.id]);
      expect(await settle(claimed as Job, { what: 'accepted' }, other)).toBe('finished');
    });
  });
}

import { beforeEach, describe, expect, it } from 'bun:test';
import type { DeliveryStore } from '../../../../src/push/delivering/ports.ts';
import type { PageJob } from '../../../../src/push/model/delivery.ts';
import type { TakenTimes } from '../../../../src/push/model/pace.ts';
import { type DeliveryScene, LEASE_MS, NOW_MS } from './delivery-scene.ts';
import type { DeliverySetup } from './delivery-setup.ts';

const SECOND_MS = 1_000;

/** What the pipeline expects of publishes that say how many notifications they send per second. */
export function paceContract(current: () => DeliverySetup): void {
  let store: DeliveryStore;
  let other: DeliveryStore;
  let scene: DeliveryScene;
  beforeEach(() => {
    ({ store, other, scene } = current());
  });

  /** A publish of two per second to six devices: a page for each of three seconds. */
  const planned = async ({ pages = 3 } = {}) => {
    for (let made = 0; made < 6; made++) await scene.device();
    const target = { kind: 'interests', names: ['hello'] } as const;
    const body = JSON.stringify({ interests: ['hello'], fcm: {}, perSecond: 2 });
    const { number, id } = await scene.claimed({ target, body });
    const recipients = await scene.recipients(target);
    const devices = recipients.map((one) => one.number);
    for (let page = 0; page < pages; page++) {
      const some = devices.slice(2 * page, 2 * page + 2);
      const atMs = NOW_MS + page * SECOND_MS;
      const due = { atMs, pacedMs: page * SECOND_MS, devices: some };
      await store.addPage({
        publish: number,
        page: {
          after: page === 0 ? 0 : (devices[2 * page - 1] ?? 0),
          upTo: some[1] ?? 0,
          devices: some,
          planned: { apns: 0, fcm: 2, web: 0 },
          isLast: page === 2,
          ...(page > 0 && { dues: [due] }),
          taken: [[NOW_MS, atMs + SECOND_MS]],
        },
        claimedUntilMs: undefined,
      });
    }
    return { number, id, devices, recipients };
  };
  const pageJob = async (on = store): Promise<PageJob> => {
    const job = await scene.job(on);
    if (job.what !== 'page') throw new Error('a page was expected');
    return job;
  };
  const times = async (id: Parameters<DeliveryScene['status']>[0]) => {
    const { nextAtMs, lastAtMs } = await scene.status(id);
    return [nextAtMs, lastAtMs].map((atMs) => atMs && atMs - NOW_MS);
  };

  describe('a publish of so many notifications per second', () => {
    it('has the times of its pages when another server continues its plan', async () => {
      const { number, devices } = await planned({ pages: 2 });
      scene.nowMs += LEASE_MS;
      const [plan] = await other.claimPlans({
        nowMs: scene.nowMs,
        untilMs: scene.nowMs + LEASE_MS,
        limit: 1,
        except: [],
      });
      const taken: TakenTimes = [[NOW_MS, NOW_MS + 2 * SECOND_MS]];
      expect(plan).toMatchObject({ publish: { number }, after: devices[3], taken });
    });

    it('says when the next devices are due, and until when it sends', async () => {
      const { id } = await planned();
      expect(await times(id)).toEqual([SECOND_MS, 3 * SECOND_MS]);
      for (const late of [0, 1, 2]) {
        scene.nowMs = NOW_MS + late * SECOND_MS;
        await scene.finish(await pageJob());
      }
      expect(await times(id)).toEqual([undefined, undefined]);
      expect(await scene.counts(id)).toEqual({ planned: 6, accepted: 6 });
    });

    it('says for how long a device has waited for its turn, also at its next attempt', async () => {
      const { id, devices, recipients } = await planned();
      expect((await pageJob()).pacedMs).toBeUndefined();
      const [last = 0] = devices.slice(5);
      scene.nowMs = NOW_MS + 2 * SECOND_MS;
      const story = recipients[5] && (await scene.story(id, recipients[5].id));
      expect(story?.due).toMatchObject({ atMs: NOW_MS + 2 * SECOND_MS, perSecond: 2 });
      await scene.finish(await pageJob());
      const job = await pageJob();
      expect(job.pacedMs?.get(last)).toBe(2 * SECOND_MS);
      const results = job.devices.map((device) => ({
        what: 'retry' as const,
        device,
        platform: 'fcm' as const,
        attempts: 1,
        dueAtMs: scene.nowMs + 1,
        reason: 'busy',
        words: '',
        pacedMs: job.pacedMs?.get(device),
      }));
      await store.settle({ job, results, nowMs: scene.nowMs });
      scene.nowMs += 1;
      const retries = await scene.job();
      expect(retries).toMatchObject({
        retries: devices.slice(4).map((device) => ({ device, pacedMs: 2 * SECOND_MS })),
      });
    });

    it('sends what is late at the end, one page after the other', async () => {
      const { id, devices } = await planned();
      await scene.finish(await pageJob());
      scene.nowMs = NOW_MS + 60 * SECOND_MS;
      const first = await pageJob(other);
      expect(first.devices).toEqual(devices.slice(2, 4));
      // It waited one second for its turn, and then its servers were away.
      expect(first.pacedMs?.get(devices[2] ?? 0)).toBe(SECOND_MS);
      await scene.finish(first, 'accepted', 0, other);
      expect(await scene.claim()).toEqual([]);
      expect(await times(id)).toEqual([61 * SECOND_MS, 62 * SECOND_MS]);
      scene.nowMs += SECOND_MS;
      const second = await pageJob();
      expect(second.devices).toEqual(devices.slice(4));
      expect(second.pacedMs?.get(devices[4] ?? 0)).toBe(3 * SECOND_MS);
      expect(await scene.finish(second)).toBe('finished');
      expect(await scene.counts(id)).toEqual({ planned: 6, accepted: 6 });
    });

    it('sends at once what is late by a second at most', async () => {
      const { devices } = await planned();
      await scene.finish(await pageJob());
      scene.nowMs = NOW_MS + 2 * SECOND_MS;
      expect((await pageJob()).devices).toEqual(devices.slice(2, 4));
    });

    it('keeps what is late until it is planned to the end', async () => {
      const { number, devices } = await planned({ pages: 2 });
      await scene.finish(await pageJob());
      scene.nowMs = NOW_MS + 10 * SECOND_MS;
      expect(await scene.claim()).toEqual([]);
      await store.endPlanning({ publish: number, after: devices[3] ?? 0, nowMs: scene.nowMs });
      scene.nowMs += 5 * SECOND_MS;
      expect((await pageJob()).devices).toEqual(devices.slice(2, 4));
    });

    it('may be cancelled while its pages are late', async () => {
      const { id } = await planned();
      await scene.finish(await pageJob());
      scene.nowMs = NOW_MS + 60 * SECOND_MS;
      await scene.stores.publishes.cancel({ instance: scene.instance, id, nowMs: scene.nowMs });
      expect(await scene.claim()).toEqual([]);
      expect(await scene.counts(id)).toEqual({ planned: 6, accepted: 2, cancelled: 4 });
    });
  });

  describe('a plan that is given back', () => {
    const UNTIL_MS = NOW_MS + 60 * SECOND_MS;

    it('is claimed by any server when its time has come', async () => {
      const { number, devices } = await planned({ pages: 1 });
      const after = devices[1] ?? 0;
      await store.postponePlan({ publish: number, after, untilMs: UNTIL_MS });
      // A server that has given a plan back no longer extends its claim.
      await store.extend({ plans: [number], jobs: [] }, UNTIL_MS + LEASE_MS);
      const claim = () =>
        other.claimPlans({
          nowMs: scene.nowMs,
          untilMs: scene.nowMs + LEASE_MS,
          limit: 1,
          except: [],
        });
      scene.nowMs = UNTIL_MS - 1;
      expect(await claim()).toEqual([]);
      expect((await scene.claim()).map((job) => job.devices)).toEqual([devices.slice(0, 2)]);
      scene.nowMs = UNTIL_MS;
      expect(await claim()).toMatchObject([{ publish: { number }, after }]);
    });

    it('is not given back by a server that has lost it', async () => {
      const { number, devices } = await planned({ pages: 1 });
      scene.nowMs += LEASE_MS;
      const terms = { nowMs: scene.nowMs, untilMs: scene.nowMs + LEASE_MS, limit: 1, except: [] };
      expect(await other.claimPlans(terms)).toHaveLength(1);
      const after = devices[1] ?? 0;
      await store.postponePlan({ publish: number, after, untilMs: UNTIL_MS });
      await other.postponePlan({ publish: number, after: 0, untilMs: UNTIL_MS });
      expect(await store.claimPlans(terms)).toEqual([]);
      scene.nowMs += LEASE_MS;
      const again = { ...terms, nowMs: scene.nowMs, untilMs: scene.nowMs + LEASE_MS };
      expect(await store.claimPlans(again)).toHaveLength(1);
    });
  });
}

import { beforeEach, describe, expect, it } from 'bun:test';
import type { DeliveryStore } from '../../../../src/push/delivering/ports.ts';
import type { Job } from '../../../../src/push/model/delivery.ts';
import { type DeliveryScene, LEASE_MS, NOW_MS } from './delivery-scene.ts';
import type { DeliverySetup } from './delivery-setup.ts';

const LATER_MS = NOW_MS + 3_600_000;
const LAST_MS = NOW_MS + 7_200_000;

/** What the pipeline expects of pages whose devices are due at different times. */
export function duesContract(current: () => DeliverySetup): void {
  let store: DeliveryStore;
  let other: DeliveryStore;
  let scene: DeliveryScene;
  beforeEach(() => {
    ({ store, other, scene } = current());
  });

  /** A planned page of six devices: two are due now, two later and two last. */
  const planned = async ({ now = 2, leftOut = false, target = 'interests' } = {}) => {
    const isToUsers = target === 'users';
    for (let made = 0; made < 6; made++) await scene.device({}, isToUsers ? `u${made}` : undefined);
    const users = Array.from({ length: 6 }, (_, n) => `u${n}`);
    const to = isToUsers
      ? ({ kind: 'users', names: users } as const)
      : ({ kind: 'interests', names: ['hello'] } as const);
    const body = JSON.stringify({ [to.kind]: to.names, fcm: {}, sendAtLocal: '2026-01-15T14:00' });
    const { number, id } = await scene.claimed({ target: to, body });
    const recipients = await scene.recipients(to);
    const devices = recipients.map((one) => one.number);
    const dues = [
      ...(now === 0 ? [{ atMs: NOW_MS + 1000, devices: devices.slice(0, 2) }] : []),
      { atMs: LATER_MS, devices: devices.slice(2, 4) },
      { atMs: LAST_MS, devices: devices.slice(4) },
    ];
    const why = { what: 'failed', reason: 'over-cap', words: 'three' } as const;
    const page = {
      after: 0,
      upTo: devices.at(-1) ?? 0,
      devices,
      planned: { apns: 0, fcm: devices.length, web: 0 },
      isLast: true,
      dues,
      ...(leftOut && { leftOut: [{ ...why, devices: devices.slice(0, 1) }] }),
    };
    await store.addPage({ publish: number, page, claimedUntilMs: undefined });
    return { id, number, devices, recipients };
  };
  const nextAt = async (id: Parameters<DeliveryScene['status']>[0]) =>
    (await scene.status(id)).nextAtMs;
  const devicesOf = (job: Job) => job.devices;

  describe('dues of a page', () => {
    it('are claimed each at its time, and the last one finishes the publish', async () => {
      const { id, devices } = await planned();
      const job = await scene.job();
      expect(job).toMatchObject({ devices: devices.slice(0, 2), nextDueMs: LATER_MS });
      expect(await scene.finish(job)).toBe('under-way');
      expect(await nextAt(id)).toBe(LATER_MS);
      expect(await store.nextDue()).toBe(LATER_MS);
      expect(await scene.claim()).toEqual([]);

      scene.nowMs = LATER_MS;
      const second = await scene.job(other);
      expect(second).toMatchObject({ devices: devices.slice(2, 4), nextDueMs: LAST_MS });
      expect(await scene.finish(second, 'accepted', 0, other)).toBe('under-way');

      scene.nowMs = LAST_MS;
      const last = await scene.job();
      expect(devicesOf(last)).toEqual(devices.slice(4));
      expect(last.what === 'page' && last.nextDueMs).toBeUndefined();
      expect(await scene.finish(last)).toBe('finished');
      expect(await scene.counts(id)).toEqual({ planned: 6, accepted: 6 });
      expect(await nextAt(id)).toBeUndefined();
    });

    it('wait if no device of the page is due', async () => {
      const { devices } = await planned({ now: 0 });
      expect(await scene.claim()).toEqual([]);
      scene.nowMs += 1000;
      expect(devicesOf(await scene.job())).toEqual(devices.slice(0, 2));
    });

    it('that have passed meanwhile are claimed together', async () => {
      const { id, devices } = await planned();
      scene.nowMs = LAST_MS;
      const job = await scene.job();
      expect(devicesOf(job)).toEqual(devices);
      expect(await scene.finish(job)).toBe('finished');
      expect(await scene.counts(id)).toEqual({ planned: 6, accepted: 6 });
    });

    it('are repeated only for devices without a result when a server crashed', async () => {
      const { id, devices } = await planned();
      const job = await scene.job();
      expect(await scene.settlePart(job, 1)).toBe('under-way');
      scene.nowMs += LEASE_MS;
      const again = await scene.job(other);
      expect(devicesOf(again)).toEqual(devices.slice(1, 2));
      expect(await scene.finish(job)).toBe('stale');
      expect(await scene.finish(again, 'retry', 1000, other)).toBe('under-way');
      expect(await scene.counts(id)).toEqual({ planned: 6, accepted: 1, retrying: 1 });
      scene.nowMs += 1000;
      expect(await scene.finish(await scene.job())).toBe('under-way');
      scene.nowMs = LAST_MS;
      expect(await scene.finish(await scene.job())).toBe('finished');
      expect(await scene.counts(id)).toEqual({ planned: 6, accepted: 6 });
    });

    it('may be settled twice', async () => {
      const { id } = await planned();
      const job = await scene.job();
      expect(await scene.finish(job)).toBe('under-way');
      expect(await scene.finish(job)).toBe('stale');
      expect(await scene.counts(id)).toEqual({ planned: 6, accepted: 2 });
    });

    it('count devices that were deleted with the last ones', async () => {
      const { id, recipients } = await planned();
      const [first, , third] = recipients;
      for (const one of [first, third]) {
        if (one !== undefined) {
          await scene.stores.devices.delete({ instance: scene.instance, id: one.id });
        }
      }
      expect(await scene.finish(await scene.job())).toBe('under-way');
      expect(await scene.counts(id)).toEqual({ planned: 6, accepted: 1 });
      scene.nowMs = LAST_MS;
      expect(await scene.finish(await scene.job())).toBe('finished');
      expect(await scene.counts(id)).toEqual({ planned: 6, accepted: 4, failed: 2 });
    });

    it('are cancelled but for those in flight', async () => {
      const { id } = await planned();
      const job = await scene.job();
      await scene.stores.publishes.cancel({ instance: scene.instance, id, nowMs: scene.nowMs });
      expect(await scene.finish(job)).toBe('cancelled');
      expect(await scene.counts(id)).toEqual({ planned: 6, accepted: 2, cancelled: 4 });
      scene.nowMs = LAST_MS;
      expect(await scene.claim()).toEqual([]);
      expect(await store.nextDue()).toBeUndefined();
    });

    it('are cancelled while they wait', async () => {
      const { id } = await planned();
      await scene.finish(await scene.job());
      await scene.stores.publishes.cancel({ instance: scene.instance, id, nowMs: scene.nowMs });
      expect(await scene.counts(id)).toEqual({ planned: 6, accepted: 2, cancelled: 4 });
    });

    it('do not make a publish give way, since its other devices are untried', async () => {
      const { backlog } = current().opened;
      await planned();
      await store.hold([await scene.job()], NOW_MS + 500);
      const { publishes } = await backlog.waiting({ instance: scene.instance, after: 0 });
      expect(publishes).toEqual([]);
    });

    it('are in the story of a device until it is done', async () => {
      const { id, recipients } = await planned();
      const dueOf = async (place: number) => {
        const recipient = recipients[place];
        return recipient && (await scene.story(id, recipient.id)).due;
      };
      const local = '2026-01-15T14:00:00';
      expect([await dueOf(0), await dueOf(2)]).toEqual<unknown[]>([
        undefined,
        { atMs: LATER_MS, local },
      ]);
      scene.nowMs = LATER_MS;
      await scene.finish(await scene.job());
      expect([await dueOf(2), await dueOf(5)]).toEqual<unknown[]>([
        undefined,
        { atMs: LAST_MS, local },
      ]);
    });
  });

  describe('devices of a page that do not get it', () => {
    it('are named with the reason to whoever claims the page', async () => {
      const { devices } = await planned({ leftOut: true });
      const job = await scene.job();
      expect(job.what === 'page' && [...(job.leftOut ?? [])]).toEqual([
        [devices[0] ?? 0, { what: 'failed', reason: 'over-cap', words: 'three' }],
      ]);
    });

    it('count like all others when they are settled, as do their users', async () => {
      const { id, number, devices } = await planned({ leftOut: true, target: 'users' });
      scene.nowMs = LAST_MS;
      const job = await scene.job();
      const [device = 0] = devices;
      const failed = {
        what: 'failed',
        device,
        platform: 'fcm',
        userId: 'u0',
        attempts: 0,
        reason: 'over-cap',
        words: 'three',
      } as const;
      const others = (await scene.stores.audience.recipients(scene.instance, devices.slice(1))).map(
        ({ number: one, userId }) =>
          ({ what: 'accepted', device: one, platform: 'fcm', userId }) as const,
      );
      const results = [failed, ...others];
      expect(await store.settle({ job, results, nowMs: scene.nowMs })).toBe('finished');
      expect(await scene.counts(id)).toEqual({ planned: 6, accepted: 5, failed: 1 });
      expect(await scene.stores.stories.usersReached(number)).toMatchObject({ failed: ['u0'] });
    });
  });
}

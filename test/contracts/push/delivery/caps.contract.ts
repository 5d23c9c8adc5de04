import { beforeEach, describe, expect, it } from 'bun:test';
import type { DeliveryStore } from '../../../../src/push/delivering/ports.ts';
import { type DeliveryScene, NOW_MS } from './delivery-scene.ts';
import type { DeliverySetup } from './delivery-setup.ts';

const HOUR_MS = 3_600_000;

/** What the pipeline expects of pages that count towards the caps of their devices. */
export function capsContract(current: () => DeliverySetup): void {
  let store: DeliveryStore;
  let other: DeliveryStore;
  let scene: DeliveryScene;
  beforeEach(() => {
    ({ store, other, scene } = current());
  });

  /** Plans a publish to all devices. */
  const plan = async (nowMs = scene.nowMs) => {
    const { number } = await scene.claimed();
    await add(number, store, nowMs);
    return number;
  };
  /** Adds all devices to a publish, by one of two servers. */
  const add = async (number: number, by: DeliveryStore, nowMs = scene.nowMs) => {
    const recipients = await scene.recipients({ kind: 'interests', names: ['hello'] });
    const devices = recipients.map((one) => one.number);
    const page = {
      after: 0,
      upTo: devices.at(-1) ?? 0,
      devices,
      planned: { apns: 0, fcm: devices.length, web: 0 },
      isLast: true,
    };
    const cap = { notifications: 3, hours: 24, nowMs, devices };
    return await by.addPage({ publish: number, page, claimedUntilMs: undefined, cap });
  };
  const leftOut = async () => {
    const jobs = await scene.claim();
    return jobs.flatMap((job) => (job.what === 'page' ? [...(job.leftOut ?? [])] : []));
  };

  describe('a cap', () => {
    it('is exact, however many publishes come at once to two servers', async () => {
      for (let made = 0; made < 4; made++) await scene.device();
      const publishes: number[] = [];
      for (let n = 0; n < 20; n++) publishes.push((await scene.claimed()).number);
      await Promise.all(publishes.map((one, n) => add(one, n % 2 === 0 ? store : other)));
      const out = await leftOut();
      const times = Map.groupBy(out, ([device]) => device);
      expect([...times.values()].map((some) => some.length)).toEqual([17, 17, 17, 17]);
      expect(out[0]?.[1]).toEqual({
        what: 'failed',
        reason: 'over-cap',
        words: '3 notifications in the 24 h since 2026-01-15T12:00Z',
      });
    });

    it('begins anew when its time is over, which began with the first', async () => {
      await scene.device();
      await plan();
      await plan(NOW_MS + 20 * HOUR_MS);
      await plan(NOW_MS + 24 * HOUR_MS - 1);
      expect(await leftOut()).toEqual([]);
      await plan(NOW_MS + 24 * HOUR_MS - 1);
      expect(await leftOut()).toHaveLength(1);
      for (let more = 0; more < 3; more++) await plan(NOW_MS + 24 * HOUR_MS);
      expect(await leftOut()).toEqual([]);
      await plan(NOW_MS + 24 * HOUR_MS);
      expect(await leftOut()).toHaveLength(1);
    });

    it('says at once who has no room, so that the page need not be read again', async () => {
      const { id } = await scene.device();
      for (let room = 0; room < 3; room++) {
        expect((await add((await scene.claimed()).number, store))?.overCap).toEqual([]);
      }
      const over = await add((await scene.claimed()).number, store);
      const [one] = await scene.recipients({ kind: 'interests', names: ['hello'] });
      expect(one?.id).toBe(id);
      expect(over?.overCap).toMatchObject([{ reason: 'over-cap', devices: [one?.number] }]);
    });

    it('never counts a page that was not stored', async () => {
      await scene.device();
      const number = await plan();
      const [one] = await scene.recipients({ kind: 'interests', names: ['hello'] });
      const devices = [one?.number ?? 0];
      const page = {
        after: 0,
        upTo: devices[0] ?? 0,
        devices,
        planned: { apns: 0, fcm: 1, web: 0 },
      };
      const cap = { notifications: 3, hours: 24, nowMs: NOW_MS, devices };
      for (let again = 0; again < 5; again++) {
        const added = { publish: number, page, claimedUntilMs: undefined, cap };
        expect(await store.addPage(added)).toBeUndefined();
      }
      await plan();
      await plan();
      expect(await leftOut()).toEqual([]);
    });
  });
}

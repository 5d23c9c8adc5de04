import { beforeEach, describe, expect, it } from 'bun:test';
import type { DeliveryStore } from '../../../../src/push/delivering/ports.ts';
import { type DeliveryScene, LEASE_MS, NOW_MS } from './delivery-scene.ts';
import { claimPlans, type DeliverySetup, ids, numbersOf } from './delivery-setup.ts';

/** What the pipeline expects of any planning store. */
export function planningStoreContract(current: () => DeliverySetup): void {
  let store: DeliveryStore;
  let other: DeliveryStore;
  let scene: DeliveryScene;
  beforeEach(() => {
    ({ store, other, scene } = current());
  });
  const newScene = () => current().newScene();
  const plan = (nowMs: number, by = store, limit = 100) => claimPlans(by, nowMs, limit);

  describe('planning', () => {
    it('claims a publish when it is due, for one server', async () => {
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

    it('claims it again after the claim has expired, and continues from there', async () => {
      for (let index = 0; index < 4; index += 1) await scene.device();
      const { number, id } = await scene.claimed();
      const recipients = await scene.recipients({ kind: 'interests', names: ['hello'] });
      expect(await scene.addPage(number, 0, recipients.slice(0, 2))).toBeNumber();
      expect(await plan(NOW_MS + LEASE_MS - 1, other)).toEqual([]);
      const claims = await plan(NOW_MS + LEASE_MS, other);
      expect(claims).toMatchObject([{ publish: { id }, after: recipients[1]?.number }]);
    });

    it('continues at one place only', async () => {
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

    it('records how far it has come, past devices that are in no page', async () => {
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

    it('ends with its last page, in one commit', async () => {
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
      ).toBeObject();
      expect((await scene.status(id)).state).toBe('planning');
      const last = { ...page(2, 4), isLast: true };
      expect(
        await store.addPage({ publish: number, page: last, claimedUntilMs: undefined }),
      ).toBeObject();
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

    it('ends once, and finishes the publish if nothing is left', async () => {
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

    it('does not finish the publish as long as a page waits', async () => {
      const { id } = await scene.planned({ devices: 4, perPage: 2 });
      expect((await scene.status(id)).state).toBe('delivering');
      expect(await scene.deliver()).toBe('under-way');
      expect(await scene.deliver()).toBe('finished');
      expect((await scene.status(id)).state).toBe('finished');
    });

    it('finishes the publish if all pages are delivered already', async () => {
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

    it('claims of each instance in turn, the publish that has waited longest first', async () => {
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

    it('never claims a publish twice, with many concurrent callers', async () => {
      const accepted = await Promise.all(Array.from({ length: 40 }, () => scene.accept()));
      const claims = await Promise.all(
        Array.from({ length: 20 }, (_, index) => plan(NOW_MS, index % 2 === 0 ? store : other, 3)),
      );
      const claimed = claims.flatMap(ids);
      expect(new Set(claimed).size).toBe(claimed.length);
      claimed.push(...ids(await plan(NOW_MS)));
      expect(claimed.sort()).toEqual(accepted.map(({ id }) => id).sort());
    });
  });
}

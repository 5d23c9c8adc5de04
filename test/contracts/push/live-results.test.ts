import { describe, expect, it } from 'bun:test';
import type { LiveResult } from '../../../src/push/model/live.ts';
import type { NewPublish } from '../../../src/push/model/publish.ts';
import { newPublishId } from '../../../src/push/model/publish-id.ts';
import { databases } from '../../../testing/databases/databases.ts';
import { memoryPushStores, openPushStores } from './stores.ts';

const NOW_MS = Date.UTC(2026, 10, 24);
const WAIT_MS = 4_000;
const GRACE_MS = 2_000;

const RESULT: LiveResult = {
  users: [
    { userId: 'ann', state: 'reached', connections: 2, answeredAfterMs: 12.6 },
    { userId: 'bob', state: 'silent', connections: 1, answeredAfterMs: undefined },
    { userId: 'cid', state: 'absent', connections: 0, answeredAfterMs: undefined },
  ],
};

const stored = databases.map(({ name, make }) => ({ name, open: () => openPushStores(make) }));

describe.each([...stored, { name: 'memory', open: async () => memoryPushStores() }])(
  'the live part of a publish in $name',
  ({ open }) => {
    /** A store with a publish to three users. */
    async function scene(changes: Partial<NewPublish> = {}, push: 'absent' | 'always' = 'absent') {
      const stores = await open();
      const instance = await stores.newInstance();
      const id = newPublishId(NOW_MS);
      const names = ['ann', 'bob', 'cid'];
      await stores.publishes.accept({
        id,
        instance,
        createdAtMs: NOW_MS,
        sendAtMs: undefined,
        target: { kind: 'users', names },
        platforms: ['fcm'],
        webhookUrl: undefined,
        live: { event: 'e', data: '', channel: undefined, waitSeconds: WAIT_MS / 1000, push },
        body: JSON.stringify({ users: names, fcm: {} }),
        idempotency: undefined,
        devicesMax: 0,
        pendingBytesMax: 0,
        ...changes,
      });
      const { live } = stores;
      return {
        live,
        /** Claims its plan at this time after the publish; what is known of its live part then. */
        claims: async (afterMs: number, of = stores.store) => {
          const nowMs = NOW_MS + afterMs;
          const terms = { nowMs, untilMs: nowMs + 60_000, limit: 9, except: [] };
          return (await of.claimPlans(terms)).map((plan) => plan.live);
        },
        settles: (result: LiveResult, afterMs = 100) =>
          live.settleLive({ instance, publish: id, result, nowMs: NOW_MS + afterMs }),
        status: async () => {
          const found = await stores.publishes.status({ instance, id, nowMs: NOW_MS });
          return found?.live;
        },
        // It is the first publish of its store.
        reached: async () => (await stores.stories.usersReached(1)).live,
        [Symbol.asyncDispose]: () => stores[Symbol.asyncDispose](),
      };
    }

    it('holds planning back until its result is stored, and then leaves out whom it reached', async () => {
      await using on = await scene();
      expect(await on.claims(WAIT_MS)).toEqual([]);
      await on.settles(RESULT);
      expect(await on.claims(100)).toEqual([{ reached: ['ann'] }]);
      expect(await on.status()).toEqual({
        state: 'done',
        push: 'absent',
        waitSeconds: 4,
        users: 3,
        reached: 1,
        silent: 1,
        absent: 1,
        connections: 3,
        why: undefined,
      });
      expect(await on.reached()).toEqual(['ann']);
    });

    it('lets planning begin by itself 2 s after the deadline, and then accepts no result', async () => {
      await using on = await scene();
      expect(await on.claims(WAIT_MS + GRACE_MS - 1)).toEqual([]);
      expect(await on.claims(WAIT_MS + GRACE_MS)).toEqual([{ reached: [] }]);
      await on.settles(RESULT, WAIT_MS + GRACE_MS + 1);
      expect(await on.status()).toMatchObject({ state: 'skipped', why: 'no-result', reached: 0 });
      expect(await on.reached()).toEqual([]);
    });

    it('keeps its first result', async () => {
      await using on = await scene();
      await on.settles(RESULT);
      await on.settles(RESULT);
      await on.settles({ skipped: 'over-quota' });
      expect(await on.status()).toMatchObject({ state: 'done', reached: 1 });
    });

    it('leaves nobody out where everybody gets both, or nobody was asked', async () => {
      await using always = await scene({}, 'always');
      await always.settles(RESULT);
      expect(await always.claims(100)).toEqual([{ reached: [] }]);
      await using skipped = await scene();
      await skipped.settles({ skipped: 'over-quota' });
      expect(await skipped.claims(100)).toEqual([{ reached: [] }]);
      expect(await skipped.status()).toMatchObject({ state: 'skipped', why: 'over-quota' });
    });

    it('of a scheduled publish is asked by one server when that is due', async () => {
      await using on = await scene({ sendAtMs: NOW_MS + 60_000 });
      expect(await on.status()).toMatchObject({ state: 'scheduled' });
      expect(await on.claims(59_999)).toEqual([]);
      expect(await on.claims(60_000)).toEqual(['to-be-asked']);
      expect(await on.claims(60_001)).toEqual([]);
      await on.settles(RESULT, 60_100);
      expect(await on.claims(60_100)).toEqual([{ reached: ['ann'] }]);
    });

    it('is absent from a publish without one', async () => {
      await using on = await scene({ live: undefined });
      expect(await on.claims(0)).toEqual([undefined]);
      expect(await on.status()).toBeUndefined();
      expect(await on.reached()).toBeUndefined();
    });
  },
);

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'bun:test';
import type { PublishUnderWay } from '../../../../src/push/model/delivery.ts';
import type { NewPublish } from '../../../../src/push/model/publish.ts';
import {
  COMPLETION_GRACE_MS,
  type PendingCompletionEvent,
  type PendingCompletionEvents,
} from '../../../../src/push/pending-completion-events.ts';
import { DeliveryScene, type DeliveryStores, NOW_MS } from './delivery-scene.ts';

/** Stores to test. */
export interface OpenPendingCompletionEvents extends DeliveryStores, AsyncDisposable {
  readonly pending: PendingCompletionEvents;
  /** The same as another server has it. */
  readonly otherPending: PendingCompletionEvents;
  newInstance(): Promise<number>;
}

const DUE_MS = NOW_MS + COMPLETION_GRACE_MS;
const CLAIM_MS = 60_000;

const toldTo = (webhookUrl: string): Partial<NewPublish> => ({
  webhookUrl,
  body: JSON.stringify({ interests: ['hello'], fcm: {}, webhookUrl }),
});
const toUsers: Partial<NewPublish> = { target: { kind: 'users', names: ['ann'] } };

/** What whoever tells the ends of publishes expects of what keeps them. */
export function pendingCompletionEventsContract(
  name: string,
  open: () => Promise<OpenPendingCompletionEvents>,
): void {
  describe(`${name} keeps the contract of pending completion events`, () => {
    let opened: OpenPendingCompletionEvents;
    let pending: PendingCompletionEvents;
    let scene: DeliveryScene;
    beforeAll(async () => {
      opened = await open();
      ({ pending } = opened);
    });
    afterAll(() => opened[Symbol.asyncDispose]());
    beforeEach(async () => {
      scene = new DeliveryScene(opened, await opened.newInstance());
    });
    // Nothing is left to be claimed by the next test.
    afterEach(async () => {
      const left = await pending.claim(Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, 100);
      for (const { publish } of left) await pending.remove(publish.number);
    });

    const claim = (nowMs: number, by = pending, most = 10) =>
      by.claim(nowMs, nowMs + CLAIM_MS, most);
    const numbers = (ends: readonly PendingCompletionEvent[]) =>
      ends.map(({ publish }) => publish.number);
    const end = ({ number }: PublishUnderWay, nowMs = NOW_MS) =>
      scene.stores.store.endPlanning({ publish: number, after: 0, nowMs: nowMs });

    /** A publish that reaches nobody, so that it ends with its planning. */
    async function finished(changes: Partial<NewPublish>, nowMs = NOW_MS): Promise<number> {
      const publish = await scene.claimed(changes);
      expect(await end(publish, nowMs)).toBe('finished');
      return publish.number;
    }

    it('knows that a publish with a webhook is finished, from then on', async () => {
      const publish = await scene.claimed(toldTo('https://a.test/'));
      expect(await pending.finishedAtMs(publish.number)).toBeUndefined();
      await end(publish, NOW_MS + 7);
      expect(await pending.finishedAtMs(publish.number)).toBe(NOW_MS + 7);
      expect(await claim(DUE_MS + 6)).toEqual([]);
      expect(await claim(DUE_MS + 7)).toEqual([{ publish, finishedAtMs: NOW_MS + 7 }]);
    });

    it('knows it where the last device has ended it', async () => {
      await scene.device();
      const publish = await scene.claimed({
        ...toldTo('https://a.test/'),
        platforms: ['fcm'],
      });
      const recipients = await scene.recipients({ kind: 'interests', names: ['hello'] });
      const devices = recipients.map(({ number }) => number);
      const planned = { apns: 0, fcm: 0, web: 0 };
      for (const { platform } of recipients) planned[platform] += 1;
      const upTo = devices.at(-1) ?? 0;
      await scene.stores.store.addPage({
        publish: publish.number,
        page: { after: 0, upTo, devices, planned },
        claimedUntilMs: undefined,
      });
      expect(
        await scene.stores.store.endPlanning({
          publish: publish.number,
          after: upTo,
          nowMs: NOW_MS,
        }),
      ).toBe('under-way');
      expect(await pending.finishedAtMs(publish.number)).toBeUndefined();
      scene.nowMs = NOW_MS + 50;
      expect(await scene.deliver()).toBe('finished');
      expect(await pending.finishedAtMs(publish.number)).toBe(NOW_MS + 50);
    });

    it('knows it of one to users, whoever wants to hear of those', async () => {
      const number = await finished(toUsers);
      expect(await claim(DUE_MS)).toMatchObject([{ publish: { number, kind: 'users' } }]);
    });

    it('knows nothing of one that nobody is told of', async () => {
      const texts = ['Hello', 'A webhookUrl', 'Two\nlines'];
      for (const title of texts) {
        const body = JSON.stringify({ interests: ['hello'], fcm: { notification: { title } } });
        expect(await pending.finishedAtMs(await finished({ body }))).toBeUndefined();
      }
      const cancelled = await scene.claimed(toldTo('https://a.test/'));
      await scene.stores.publishes.cancel(scene.instance, cancelled.id, NOW_MS);
      expect(await end(cancelled)).toBe('cancelled');
      expect(await claim(DUE_MS)).toEqual([]);
    });

    it('finds a webhook however its key is written', async () => {
      const body = '{"interests":["hello"],"fcm":{},"\\u0077ebhookUrl":"https://a.test/"}';
      const number = await finished({ webhookUrl: 'https://a.test/', body });
      expect(await pending.finishedAtMs(number)).toBe(NOW_MS);
    });

    it('gives one to one server at a time, and again when that has not told it', async () => {
      const number = await finished(toUsers);
      const both = await Promise.all([claim(DUE_MS), claim(DUE_MS, opened.otherPending)]);
      expect(both.map((ends) => ends.length).sort()).toEqual([0, 1]);
      expect(await claim(DUE_MS + CLAIM_MS - 1)).toEqual([]);
      expect(numbers(await claim(DUE_MS + CLAIM_MS, opened.otherPending))).toEqual([number]);
    });

    it('gives no more than are wanted, first those that have waited longest', async () => {
      const [late, early, between] = [
        await finished(toUsers, NOW_MS + 30),
        await finished(toUsers, NOW_MS + 10),
        await finished(toUsers, NOW_MS + 20),
      ];
      expect(numbers(await claim(DUE_MS + 100, pending, 2))).toEqual([early, between]);
      expect(numbers(await claim(DUE_MS + 100, pending, 2))).toEqual([late]);
    });

    it('forgets what was taken away', async () => {
      const [told, other] = [await finished(toUsers), await finished(toUsers)];
      await pending.remove(told);
      await pending.remove(told);
      expect(await pending.finishedAtMs(told)).toBeUndefined();
      expect(numbers(await claim(DUE_MS))).toEqual([other]);
    });
  });
}

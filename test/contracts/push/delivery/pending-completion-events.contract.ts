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
  /** The store as another server sees it. */
  readonly otherPending: PendingCompletionEvents;
  newInstance(): Promise<number>;
}

const DUE_MS = NOW_MS + COMPLETION_GRACE_MS;
const CLAIM_MS = 60_000;

const withWebhook = (webhookUrl: string): Partial<NewPublish> => ({
  webhookUrl,
  body: JSON.stringify({ interests: ['hello'], fcm: {}, webhookUrl }),
});
const toUsers: Partial<NewPublish> = { target: { kind: 'users', names: ['ann'] } };

/** What completion events expect of any store of pending ones. */
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
      const left = await pending.claim({
        nowMs: Number.MAX_SAFE_INTEGER,
        untilMs: Number.MAX_SAFE_INTEGER,
        limit: 100,
      });
      for (const { publish } of left) await pending.remove(publish.number);
    });

    const claim = (nowMs: number, by = pending, most = 10) =>
      by.claim({ nowMs, untilMs: nowMs + CLAIM_MS, limit: most });
    const numbers = (ends: readonly PendingCompletionEvent[]) =>
      ends.map(({ publish }) => publish.number);
    const end = ({ number }: PublishUnderWay, nowMs = NOW_MS) =>
      scene.stores.store.endPlanning({ publish: number, after: 0, nowMs: nowMs });

    /** A publish without an audience, which is finished once it is planned. */
    async function finished(changes: Partial<NewPublish>, nowMs = NOW_MS): Promise<number> {
      const publish = await scene.claimed(changes);
      expect(await end(publish, nowMs)).toBe('finished');
      return publish.number;
    }

    it('has an event once a publish with a webhook is finished', async () => {
      const publish = await scene.claimed(withWebhook('https://a.test/'));
      expect(await pending.finishedAtMs(publish.number)).toBeUndefined();
      await end(publish, NOW_MS + 7);
      expect(await pending.finishedAtMs(publish.number)).toBe(NOW_MS + 7);
      expect(await claim(DUE_MS + 6)).toEqual([]);
      expect(await claim(DUE_MS + 7)).toEqual([{ publish, finishedAtMs: NOW_MS + 7 }]);
    });

    it('has an event if the last device has finished the publish', async () => {
      await scene.device();
      const publish = await scene.claimed({
        ...withWebhook('https://a.test/'),
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

    it('has an event of a publish that gave way, for any server at once', async () => {
      await scene.device({}, 'ann');
      const { id, number } = await scene.planned({
        devices: 0,
        target: { kind: 'users', names: ['ann'] },
      });
      await scene.deliver('retry');
      const { instance, nowMs } = scene;
      await scene.stores.backlog.giveWay({ instance, publishes: [number], nowMs });
      expect(await claim(nowMs, opened.otherPending)).toMatchObject([
        { publish: { id, kind: 'users' }, finishedAtMs: nowMs },
      ]);
    });

    it('has an event of every publish to users', async () => {
      const number = await finished(toUsers);
      expect(await claim(DUE_MS)).toMatchObject([{ publish: { number, kind: 'users' } }]);
    });

    it('has no event of a publish without webhooks', async () => {
      const texts = ['Hello', 'A webhookUrl', 'Two\nlines'];
      for (const title of texts) {
        const body = JSON.stringify({ interests: ['hello'], fcm: { notification: { title } } });
        expect(await pending.finishedAtMs(await finished({ body }))).toBeUndefined();
      }
      const cancelled = await scene.claimed(withWebhook('https://a.test/'));
      await scene.stores.publishes.cancel({
        instance: scene.instance,
        id: cancelled.id,
        nowMs: NOW_MS,
      });
      expect(await end(cancelled)).toBe('cancelled');
      expect(await claim(DUE_MS)).toEqual([]);
    });

    it('recognizes a webhook with any JSON escapes in its key', async () => {
      const body = '{"interests":["hello"],"fcm":{},"\\u0077ebhookUrl":"https://a.test/"}';
      const number = await finished({ webhookUrl: 'https://a.test/', body });
      expect(await pending.finishedAtMs(number)).toBe(NOW_MS);
    });

    it('claims an event for one server at a time, and again after the claim has expired', async () => {
      const number = await finished(toUsers);
      const both = await Promise.all([claim(DUE_MS), claim(DUE_MS, opened.otherPending)]);
      expect(both.map((ends) => ends.length).sort()).toEqual([0, 1]);
      expect(await claim(DUE_MS + CLAIM_MS - 1)).toEqual([]);
      expect(numbers(await claim(DUE_MS + CLAIM_MS, opened.otherPending))).toEqual([number]);
    });

    it('claims up to a limit, first the events that have waited longest', async () => {
      const [late, early, between] = [
        await finished(toUsers, NOW_MS + 30),
        await finished(toUsers, NOW_MS + 10),
        await finished(toUsers, NOW_MS + 20),
      ];
      expect(numbers(await claim(DUE_MS + 100, pending, 2))).toEqual([early, between]);
      expect(numbers(await claim(DUE_MS + 100, pending, 2))).toEqual([late]);
    });

    it('drops removed events', async () => {
      const [removed, other] = [await finished(toUsers), await finished(toUsers)];
      await pending.remove(removed);
      await pending.remove(removed);
      expect(await pending.finishedAtMs(removed)).toBeUndefined();
      expect(numbers(await claim(DUE_MS))).toEqual([other]);
    });
  });
}

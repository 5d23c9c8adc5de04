import { describe, expect, it } from 'bun:test';
import type { Gateway, Notification, Outcome } from '../../gateway.ts';
import type { PublishUnderWay } from '../../model/delivery.ts';
import type { DeviceId, Recipient } from '../../model/device.ts';
import type { PublishId } from '../../model/publish.ts';
import type { FcmPayload } from '../../payloads/fcm.ts';
import { readStoredPublish } from '../stored-publish.ts';
import { PreparedPublish } from './prepared-publish.ts';

const publish: PublishUnderWay = {
  number: 1,
  id: 'pubid-1' as PublishId,
  instance: 1,
  kind: 'interests',
  body: '{"interests":["a"],"fcm":{"time_to_live":60,"data":{"a":1}}}',
  createdAtMs: 500,
  dueAtMs: 1_000,
};

const recipient: Recipient = {
  number: 1,
  id: 'fcm-1' as DeviceId,
  platform: 'fcm',
  token: 'token',
  bundleId: undefined,
  userId: undefined,
  seenAtMs: 0,
  isTrusted: true,
};

/** The titles of what devices got. */
const sent: unknown[] = [];

function makeGateway() {
  sent.length = 0;
  const notifications: Notification<unknown>[] = [];
  const gateway: Gateway<'fcm'> = {
    platform: 'fcm',
    atOnce: 1,
    prepare: (notification) => {
      notifications.push(notification);
      return async () => {
        sent.push(notification.payload.notification['title']);
        return { result: 'accepted' };
      };
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
  return { gateway, notifications };
}

function refused(reason: string): Outcome {
  return { result: 'refused', reason, words: 'No', scope: 'publish' };
}

describe('a prepared publish', () => {
  it('is made once from the payload', () => {
    const { gateway, notifications } = makeGateway();
    const prepared = new PreparedPublish({
      publish,
      stored: readStoredPublish(publish),
      instanceId: 'instance',
      gateway,
      retryMs: 3_600_000,
    });
    expect(notifications).toMatchObject([
      {
        instanceId: 'instance',
        publishId: 'pubid-1',
        acceptedAtMs: 1_000,
        payload: { timeToLiveSeconds: 60, data: { a: 1 } },
      },
    ]);
    expect(prepared.lifetime.endsAtMs).toBe(61_000);
    expect(prepared.refusal).toBeUndefined();
  });

  it('is given up after three refusals of the whole publish in a row', () => {
    const { gateway } = makeGateway();
    const prepared = new PreparedPublish({
      publish,
      stored: readStoredPublish(publish),
      instanceId: 'instance',
      gateway,
      retryMs: 3_600_000,
    });
    const outcomes: readonly Outcome[] = [
      refused('a'),
      refused('a'),
      { result: 'accepted' },
      refused('a'),
      refused('b'),
      refused('b'),
      { result: 'refused', reason: 'b', words: '' },
      refused('b'),
      refused('b'),
    ];
    expect(outcomes.map((outcome) => prepared.learn(outcome))).not.toContain(true);
    expect(prepared.learn(refused('b'))).toBe(true);
    expect(prepared.refusal).toEqual({ reason: 'b', words: 'No' });
    expect(prepared.learn(refused('b'))).toBe(false);
    prepared.sendThrough(makeGateway().gateway);
    expect(prepared.refusal).toBeUndefined();
  });

  it('refuses every device if it cannot be read', () => {
    const { gateway, notifications } = makeGateway();
    const prepared = new PreparedPublish({
      publish,
      stored: undefined,
      instanceId: 'instance',
      gateway,
      retryMs: 3_600_000,
    });
    expect(notifications).toEqual([]);
    expect(prepared.refusal).toEqual({ reason: 'publish-unreadable', words: '' });
  });

  it('has a message for each language in use, made once', async () => {
    const { gateway, notifications } = makeGateway();
    const texts = { de: { title: 'Hallo' }, fr: { title: 'Salut' } };
    const body = JSON.stringify({
      interests: ['a'],
      fcm: { notification: { title: 'Hi' } },
      texts,
    });
    const prepared = new PreparedPublish({
      publish: { ...publish, body },
      stored: readStoredPublish({ ...publish, body }),
      instanceId: 'instance',
      gateway,
      retryMs: 3_600_000,
    });
    const titles = () =>
      notifications.map(({ payload }) => (payload as FcmPayload).notification['title']);
    expect(titles()).toEqual(['Hi']);
    for (const language of [undefined, 'en', 'de-AT', 'de', 'de-CH']) {
      await prepared.deliver({ ...recipient, preferences: { language } });
    }
    expect(titles()).toEqual(['Hi', 'Hallo']);
    expect(sent).toEqual(['Hi', 'Hi', 'Hallo', 'Hallo', 'Hallo']);
  });
});

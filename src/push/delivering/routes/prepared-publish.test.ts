import { describe, expect, it } from 'bun:test';
import type { Gateway, Notification, Outcome } from '../../gateway.ts';
import type { PublishUnderWay } from '../../model/delivery.ts';
import type { PublishId } from '../../model/publish.ts';
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

function makeGateway() {
  const notifications: Notification<unknown>[] = [];
  const gateway: Gateway<'fcm'> = {
    platform: 'fcm',
    atOnce: 1,
    prepare: (notification) => {
      notifications.push(notification);
      return async () => ({ result: 'accepted' });
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
});

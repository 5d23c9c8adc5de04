import { expect, it } from 'bun:test';
import { FakeClock } from '../../../../channels/hub.fixture.ts';
import type { RedisConnection } from '../connection.ts';
import { Subscriptions } from '../subscriptions.ts';

/** The streams of a slot, on a connection of which the test says what comes over it. */
function open() {
  const sent: string[] = [];
  const ended: string[] = [];
  const followed: true[] = [];
  const subscriptions = new Subscriptions(
    {
      timers: new FakeClock(),
      deadlineMs: 2_000,
      silenceMs: 5_000,
      probeChannel: 'probe',
      publish: async () => undefined,
      isSharded: true,
      meter: { count: () => undefined, observe: () => undefined },
    },
    {
      onMessage: () => undefined,
      onFollowed: () => void followed.push(true),
      onProbed: () => undefined,
    },
  );
  const connection = {
    heardAtMs: 0,
    write: (text: string) =>
      void sent.push(
        text
          .split('\r\n')
          .filter((_, n) => n % 2 === 0)
          .slice(1)
          .join(' ')
          .trim(),
      ),
    flush: () => undefined,
    end: (why: string) => void ended.push(why),
  };
  subscriptions.attach(connection as unknown as RedisConnection);
  subscriptions.onPush('subscribe', 'probe', 1);
  return { subscriptions, sent, ended, followed };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

it('streams of a slot are followed and left by commands of their own', async () => {
  const { subscriptions, sent, followed, ended } = open();
  const following = subscriptions.follow('news');
  await turn();
  subscriptions.onPush('subscribe', 'news', 2);
  await following;
  subscriptions.unfollow('news');
  await turn();
  expect(sent).toEqual(['SSUBSCRIBE probe', 'SSUBSCRIBE news', 'SUNSUBSCRIBE news']);
  subscriptions.onPush('unsubscribe', 'news', 1);
  expect(followed).toHaveLength(1);
  expect(ended).toEqual([]);
});

it.each(['news', 'probe'])(
  'a master that ends the subscription of "%s" unasked is left',
  async (name) => {
    const { subscriptions, ended } = open();
    const following = subscriptions.follow('news');
    await turn();
    subscriptions.onPush('subscribe', 'news', 2);
    await following;
    subscriptions.onPush('unsubscribe', name, 1);
    expect(ended).toEqual([expect.stringContaining('at another master')]);
  },
);

import { describe, expect, it } from 'bun:test';
import type { App, AppWebhook } from '../app.ts';
import { broadcast } from '../broadcast.ts';
import { relay } from '../client-event.ts';
import { topicOf } from '../event.ts';
import {
  appWith,
  channelName,
  hubWith,
  sessionOf,
  subscriptionTo,
  transition,
} from '../hub.fixture.ts';
import type { Member } from '../ports.ts';
import { LifecycleEvents } from './lifecycle-events.ts';
import type { WebhookEvent } from './webhook-event.ts';

/** The webhook events of channels. Source: Channels protocol, §15. */

const ALL: readonly WebhookEvent['name'][] = [
  'channel_occupied',
  'channel_vacated',
  'member_added',
  'member_removed',
  'client_event',
  'cache_miss',
  'subscription_count',
];

function webhook(events: AppWebhook['events'] = ALL): AppWebhook {
  return { url: 'https://backend.example.com/', events, batching: true };
}

const ann: Member = { userId: 'ann', userInfo: undefined };
const bob: Member = { userId: 'bob', userInfo: undefined };

/** An app whose roster is played by counting: each join and departure states what it changed. */
function stage(settings: Partial<App> = {}) {
  const app = appWith({ webhooks: [webhook()], ...settings });
  const hub = hubWith();
  const lifecycle = new LifecycleEvents({
    timers: hub.clock,
    send: (sent) => broadcast(hub, sent),
    webhooks: hub.webhooks,
  });
  const subscribers = new Map<string, (Member | undefined)[]>();
  const inChannel = (channel: string) => subscribers.get(channel) ?? [];
  const isIn = (channel: string, member: Member | undefined) =>
    member !== undefined && inChannel(channel).some((one) => one?.userId === member.userId);
  return {
    app,
    hub,
    lifecycle,
    comes(channel: string, member?: Member) {
      const change = {
        occupied: inChannel(channel).length === 0,
        memberAdded: member !== undefined && !isIn(channel, member),
      };
      subscribers.set(channel, [...inChannel(channel), member]);
      const counts = { subscriptions: inChannel(channel).length, users: 0 };
      const happened = transition({ ...change, counts });
      lifecycle.joined(app, channelName(channel), member?.userId, happened);
      lifecycle.counted(app, channelName(channel), happened);
    },
    goes(channel: string, member?: Member) {
      const left = [...inChannel(channel)];
      left.splice(
        left.findIndex((one) => one?.userId === member?.userId),
        1,
      );
      subscribers.set(channel, left);
      const happened = transition({
        vacated: left.length === 0,
        memberRemoved: member !== undefined && !isIn(channel, member),
        counts: { subscriptions: left.length, users: 0 },
      });
      lifecycle.left(app, channelName(channel), { userId: member?.userId, change: happened });
    },
    misses: (channel: string) => lifecycle.cacheMissed(app, channelName(channel)),
    /** Returns the events since the last call. */
    reported: () => hub.reported.splice(0).map(({ event }) => event),
  };
}

describe('a channel', () => {
  it('is occupied at once with the first subscription, and with no other', () => {
    const { hub, comes, reported } = stage();
    const nowMs = hub.clock.now();
    comes('news');
    comes('news');
    expect(hub.reported).toEqual([
      { appId: 'app', event: { name: 'channel_occupied', channel: 'news' }, atMs: nowMs },
    ]);
    expect(reported()).toHaveLength(1);
  });

  it('is vacated 3 seconds after the last subscription went, and not a millisecond before', () => {
    const { hub, comes, goes, reported } = stage();
    comes('news');
    comes('news');
    reported();
    goes('news');
    hub.clock.advance(10_000);
    goes('news');
    const leftAtMs = hub.clock.now();
    hub.clock.advance(2999);
    expect(reported()).toEqual([]);
    hub.clock.advance(1);
    expect(hub.reported).toEqual([
      {
        appId: 'app',
        event: { name: 'channel_vacated', channel: 'news' },
        atMs: leftAtMs + 3000,
      },
    ]);
  });

  it('is neither vacated nor occupied anew when a client returns in time', () => {
    const { hub, comes, goes, reported } = stage();
    comes('news');
    reported();
    for (let n = 0; n < 5; n++) {
      goes('news');
      hub.clock.advance(2999);
      comes('news');
    }
    hub.clock.advance(60_000);
    expect(reported()).toEqual([]);
  });

  it('is occupied anew after it was vacated', () => {
    const { hub, comes, goes, reported } = stage();
    comes('news');
    goes('news');
    hub.clock.advance(3000);
    comes('news');
    expect(reported().map(({ name }) => name)).toEqual([
      'channel_occupied',
      'channel_vacated',
      'channel_occupied',
    ]);
  });

  it('waits 3 seconds from the last time that it became empty', () => {
    const { hub, comes, goes, reported } = stage();
    comes('news');
    goes('news');
    hub.clock.advance(2000);
    comes('news');
    goes('news');
    reported();
    hub.clock.advance(2999);
    expect(reported()).toEqual([]);
    hub.clock.advance(1);
    expect(reported().map(({ name }) => name)).toEqual(['channel_vacated']);
  });

  it('of one app is not mistaken for that of another', () => {
    const { hub, lifecycle, goes, comes, reported } = stage();
    comes('news');
    goes('news');
    const other = appWith({ id: 'other', webhooks: [webhook()] });
    lifecycle.joined(other, channelName('news'), undefined, transition({ occupied: true }));
    hub.clock.advance(3000);
    expect(reported().map(({ name }) => name)).toEqual([
      'channel_occupied',
      'channel_occupied',
      'channel_vacated',
    ]);
  });
});

describe('a member', () => {
  const names = (events: readonly WebhookEvent[]) => events.map(({ name }) => name);

  it('is added at once, and removed 3 seconds after their last connection went', () => {
    const { hub, comes, goes, reported } = stage();
    comes('presence-x', bob);
    reported();
    comes('presence-x', ann);
    expect(reported()).toEqual([{ name: 'member_added', channel: 'presence-x', user_id: 'ann' }]);
    comes('presence-x', ann);
    goes('presence-x', ann);
    hub.clock.advance(10_000);
    expect(reported()).toEqual([]);
    goes('presence-x', ann);
    hub.clock.advance(2999);
    expect(reported()).toEqual([]);
    hub.clock.advance(1);
    expect(reported()).toEqual([{ name: 'member_removed', channel: 'presence-x', user_id: 'ann' }]);
  });

  it('who returns in time is neither removed nor added, nor is the channel vacated', () => {
    const { hub, comes, goes, reported } = stage();
    comes('presence-x', ann);
    expect(names(reported())).toEqual(['channel_occupied', 'member_added']);
    goes('presence-x', ann);
    hub.clock.advance(2999);
    comes('presence-x', ann);
    hub.clock.advance(60_000);
    expect(reported()).toEqual([]);
  });

  it('who moves to another connection has not been away, in either order', () => {
    const { hub, comes, goes, reported } = stage();
    comes('presence-x', ann);
    reported();
    comes('presence-x', ann);
    goes('presence-x', ann);
    goes('presence-x', ann);
    comes('presence-x', ann);
    hub.clock.advance(60_000);
    expect(reported()).toEqual([]);
  });

  it('who joins when another leaves does not cancel the removal of that one', () => {
    const { hub, comes, goes, reported } = stage();
    comes('presence-x', ann);
    reported();
    goes('presence-x', ann);
    comes('presence-x', bob);
    expect(reported()).toEqual([{ name: 'member_added', channel: 'presence-x', user_id: 'bob' }]);
    hub.clock.advance(3000);
    expect(reported()).toEqual([{ name: 'member_removed', channel: 'presence-x', user_id: 'ann' }]);
  });

  it('of one channel is another than in the next', () => {
    const { hub, comes, goes, reported } = stage();
    comes('presence-x', ann);
    goes('presence-x', ann);
    comes('presence-y', ann);
    reported();
    hub.clock.advance(3000);
    expect(reported()).toEqual([
      { name: 'member_removed', channel: 'presence-x', user_id: 'ann' },
      { name: 'channel_vacated', channel: 'presence-x' },
    ]);
  });

  it('who is removed with the channel is reported before it, also when thousands leave at once', () => {
    const { hub, comes, goes, reported } = stage();
    for (let n = 0; n < 2000; n++) comes(`presence-${n}`, ann);
    for (let n = 0; n < 2000; n++) goes(`presence-${n}`, ann);
    reported();
    hub.clock.advance(3000);
    const events = reported();
    expect(events).toHaveLength(4000);
    for (const n of [0, 1999]) {
      const own = events.filter(({ channel }) => channel === `presence-${n}`);
      expect(names(own)).toEqual(['member_removed', 'channel_vacated']);
    }
  });
});

describe('a cache miss', () => {
  it('is reported once, however many clients miss, until an event is remembered', () => {
    const { app, lifecycle, comes, misses, reported } = stage();
    comes('cache-x');
    reported();
    for (let n = 0; n < 100; n++) misses('cache-x');
    expect(reported()).toEqual([{ name: 'cache_miss', channel: 'cache-x' }]);
    lifecycle.cached(topicOf(app, channelName('cache-x')));
    // Half an hour later it is forgotten.
    misses('cache-x');
    misses('cache-x');
    expect(reported()).toEqual([{ name: 'cache_miss', channel: 'cache-x' }]);
  });

  it('of one channel is not that of another', () => {
    const { misses, reported } = stage();
    misses('cache-x');
    misses('cache-y');
    expect(reported()).toHaveLength(2);
  });

  it('is reported to a backend that begins to want it, although clients missed before', () => {
    const { app, misses, reported } = stage({ webhooks: [] });
    misses('cache-x');
    Object.assign(app, { webhooks: [webhook(['cache_miss'])] });
    misses('cache-x');
    expect(reported()).toEqual([{ name: 'cache_miss', channel: 'cache-x' }]);
  });
});

describe('a subscription count', () => {
  it('is sent with each change of up to 100, and with the last, 0', () => {
    const { comes, goes, reported } = stage({
      subscriptionCounts: true,
      webhooks: [webhook(['subscription_count'])],
    });
    comes('news');
    comes('news');
    goes('news');
    goes('news');
    expect(reported()).toEqual(
      [1, 2, 1, 0].map((count) => ({
        name: 'subscription_count',
        channel: 'news',
        subscription_count: count,
      })),
    );
  });

  it('is sent to subscribers and backends at most every 5 seconds above 100', () => {
    const { hub, comes, reported } = stage({
      subscriptionCounts: true,
      webhooks: [webhook(['subscription_count'])],
    });
    for (let n = 0; n < 150; n++) comes('news');
    // Five while it was small, and one when it became large.
    expect(reported()).toHaveLength(6);
    expect(hub.audience.sent).toHaveLength(6);
    hub.clock.advance(5000);
    expect(reported()).toEqual([
      { name: 'subscription_count', channel: 'news', subscription_count: 150 },
    ]);
    expect(hub.audience.sent.at(-1)).toEqual({
      topic: 'app/news' as never,
      frame:
        '{"event":"pusher_internal:subscription_count","channel":"news","data":"{\\"subscription_count\\":150}"}',
      except: undefined,
    });
  });

  it('is never sent for presence channels, nor while the app does not count', () => {
    const counting = stage({ subscriptionCounts: true });
    counting.comes('presence-x', ann);
    counting.goes('presence-x', ann);
    counting.hub.clock.advance(60_000);
    expect(counting.reported().some(({ name }) => name === 'subscription_count')).toBe(false);
    expect(counting.hub.audience.sent).toEqual([]);

    const other = stage();
    other.comes('news');
    expect(other.reported()).toEqual([{ name: 'channel_occupied', channel: 'news' }]);
    expect(other.hub.audience.sent).toEqual([]);
  });
});

describe('a client event', () => {
  async function relayed(settings: Partial<App>, channel: string, member?: Member) {
    const { app, hub, reported } = stage(settings);
    const session = sessionOf(app, '7.8');
    session.add(subscriptionTo(app, channel, member));
    void relay(hub, session, {
      type: 'client-event',
      event: 'client-typing',
      channel,
      dataLiteral: '"{\\"a\\":1}"',
      dataBytes: 7,
    });
    return reported();
  }

  it('is sent with its data as text and the id of its connection', async () => {
    expect(await relayed({}, 'private-x')).toEqual([
      {
        name: 'client_event',
        channel: 'private-x',
        event: 'client-typing',
        data: '{"a":1}',
        socket_id: '7.8',
      },
    ]);
  });

  it('has the user who sent it in presence channels only', async () => {
    expect(await relayed({}, 'presence-x', ann)).toEqual([
      {
        name: 'client_event',
        channel: 'presence-x',
        event: 'client-typing',
        data: '{"a":1}',
        socket_id: '7.8',
        user_id: 'ann',
      },
    ]);
  });

  it('that is refused is not sent', async () => {
    expect(await relayed({ clientEvents: false }, 'private-x')).toEqual([]);
  });
});

describe('backends', () => {
  it.each(ALL)('that want %s receive nothing else, and each event costs one message', (wanted) => {
    const { app, hub, comes, goes, misses, reported } = stage({
      subscriptionCounts: true,
      webhooks: [webhook([wanted])],
    });
    comes('presence-cache-x', ann);
    misses('presence-cache-x');
    goes('presence-cache-x', ann);
    comes('news');
    hub.webhooks.emit(app, {
      name: 'client_event',
      channel: 'private-x',
      event: 'client-e',
      data: '',
      socket_id: '1.1',
    });
    hub.clock.advance(3000);
    const events = reported();
    expect(new Set(events.map(({ name }) => name))).toEqual(new Set([wanted]));
    expect(hub.usage.todayOf(app)).toEqual({ backend: 0, clients: events.length });
  });

  it('get nothing about the channels of users', () => {
    const { hub, comes, goes, reported } = stage({ subscriptionCounts: true });
    comes('#server-to-user-ann');
    goes('#server-to-user-ann');
    hub.clock.advance(60_000);
    expect(reported()).toEqual([]);
    expect(hub.audience.sent).toEqual([]);
  });

  it('cost nothing if there are none', () => {
    const { app, hub, comes, goes, reported } = stage({ webhooks: [] });
    comes('presence-x', ann);
    goes('presence-x', ann);
    hub.clock.advance(3000);
    expect(reported()).toEqual([]);
    expect(hub.usage.todayOf(app)).toEqual({ backend: 0, clients: 0 });
  });

  it('get the events that they want at that time, not before', () => {
    const { app, hub, comes, goes, reported } = stage();
    comes('news');
    goes('news');
    reported();
    Object.assign(app, { webhooks: [webhook(['channel_occupied'])] });
    hub.clock.advance(3000);
    expect(reported()).toEqual([]);
    comes('news');
    expect(reported()).toEqual([{ name: 'channel_occupied', channel: 'news' }]);
  });

  it('that are added while a channel is vacated are notified that it is occupied', () => {
    const { app, comes, goes, reported } = stage({ webhooks: [] });
    comes('news');
    goes('news');
    Object.assign(app, { webhooks: [webhook()] });
    comes('news');
    expect(reported()).toEqual([{ name: 'channel_occupied', channel: 'news' }]);
  });

  it('get delayed events once when the server stops', () => {
    const { hub, lifecycle, comes, goes, reported } = stage();
    comes('presence-x', ann);
    reported();
    goes('presence-x', ann);
    lifecycle.flush();
    expect(reported().map(({ name }) => name)).toEqual(['member_removed', 'channel_vacated']);
    hub.clock.advance(60_000);
    expect(reported()).toEqual([]);
  });
});

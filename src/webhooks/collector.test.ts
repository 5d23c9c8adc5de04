import { describe, expect, it } from 'bun:test';
import { createHmac } from 'node:crypto';
import type { App, AppWebhook } from '../channels/app.ts';
import type { AppWebhookEvent, WebhookEvent } from '../channels/lifecycle/webhook-event.ts';
import { SortableIds } from '../runtime/sortable-ids.ts';
import { Collector } from './collector.ts';
import { ACCEPTED_CHARACTERS_MAX, ACCEPTED_EVENTS_MAX, BATCH_CHARACTERS_MAX } from './limits.ts';
import { signForApp } from './sending/sign.ts';
import { appOf } from './webhooks.fixture.ts';

const all: readonly WebhookEvent[] = [
  { name: 'channel_occupied', channel: 'a' },
  { name: 'channel_vacated', channel: 'a' },
  { name: 'cache_miss', channel: 'cache-a' },
  { name: 'member_added', channel: 'presence-a', user_id: '7' },
  { name: 'member_removed', channel: 'presence-a', user_id: '7' },
  {
    name: 'client_event',
    channel: 'private-a',
    event: 'client-x',
    data: '{"a":1}',
    socket_id: '1.2',
  },
  { name: 'subscription_count', channel: 'a', subscription_count: 3 },
];
const names = all.map(({ name }) => name);
const occupied = (channel: string, atMs = 5): AppWebhookEvent => ({
  appId: 'app',
  event: { name: 'channel_occupied', channel },
  atMs,
});

function collector(...webhooks: readonly AppWebhook[]): Collector {
  return new Collector(
    (id) => (id === 'app' ? appWith(webhooks) : undefined),
    new SortableIds(),
    ACCEPTED_CHARACTERS_MAX,
  );
}

function appWith(webhooks: readonly AppWebhook[], keys = [{ key: 'k', secret: 's' }]): App {
  return { ...appOf('app', webhooks), keys };
}

describe('collected events', () => {
  it('are sent one by one without batching, each with its own time', () => {
    const one = collector({ url: 'http://a/', events: names, batching: false });
    for (const [index, event] of all.entries()) one.add({ appId: 'app', event, atMs: 100 + index });
    const taken = one.take(200).requests;
    expect(taken.map(({ request }) => JSON.parse(request.body))).toEqual(
      all.map((event, index) => ({ time_ms: 100 + index, events: [event] })),
    );
    expect(taken[0]?.request.body).toBe(
      '{"time_ms":100,"events":[{"name":"channel_occupied","channel":"a"}]}',
    );
  });

  it('are sent in batches of twenty with batching', () => {
    const one = collector({ url: 'http://a/', events: names, batching: true });
    for (let index = 0; index < 45; index++) one.add(occupied(`c${index}`, index));
    const { requests } = one.take(200);
    const bodies = requests.map(({ request }) => JSON.parse(request.body));
    expect(requests[0]?.request.events).toBe('channel_occupied ×20');
    expect(bodies.map(({ events }) => events.length)).toEqual([20, 20, 5]);
    expect(bodies.map(({ time_ms }) => time_ms)).toEqual([19, 39, 44]);
    expect(one.take(300).requests).toEqual([]);
  });

  it('are sent in the order in which they happened, those of one millisecond as they came', () => {
    for (const batching of [true, false]) {
      const one = collector({ url: 'http://a/', events: names, batching });
      for (const [channel, atMs] of [
        ['d', 30],
        ['b', 20],
        ['c', 20],
        ['a', 10],
      ] as const) {
        one.add(occupied(channel, atMs));
      }
      const bodies = one.take(200).requests.map(({ request }) => JSON.parse(request.body));
      const events: { channel: string }[] = bodies.flatMap(({ events }) => events);
      expect(events.map(({ channel }) => channel)).toEqual(['a', 'b', 'c', 'd']);
      expect(bodies.at(-1).time_ms).toBe(30);
    }
  });

  it('are split before a batch gets too large', () => {
    const one = collector({ url: 'http://a/', events: names, batching: true });
    const data = 'x'.repeat(BATCH_CHARACTERS_MAX / 2);
    for (let index = 0; index < 3; index++) {
      one.add({
        appId: 'app',
        event: { name: 'client_event', channel: 'c', event: 'client-x', data, socket_id: '1.2' },
        atMs: 1,
      });
    }
    expect(one.take(2).requests.map(({ events }) => events)).toEqual([1, 1, 1]);
  });

  it('go to every endpoint that wants them, and are ignored if none does', () => {
    const one = collector(
      { url: 'http://a/', events: ['channel_occupied'], batching: true },
      { url: 'http://b/', events: ['channel_occupied', 'cache_miss'], batching: false },
    );
    one.add(occupied('x'));
    one.add({ ...occupied('x'), appId: 'other' });
    one.add({ ...occupied('x'), event: { name: 'channel_vacated', channel: 'x' } });
    const taken = one.take(9).requests;
    expect(taken.map(({ request }) => request.url)).toEqual(['http://a/', 'http://b/']);
    expect(taken[0]?.request.endpoint).not.toBe(taken[1]?.request.endpoint);
  });

  it('are dropped at the limit, first those of the app that has most', () => {
    const webhooks = [{ url: 'http://a/', events: names, batching: true }];
    const one = new Collector(
      (id) => (id === 'none' ? undefined : { ...appWith(webhooks), id }),
      new SortableIds(),
      ACCEPTED_CHARACTERS_MAX,
    );
    for (let index = 0; index < ACCEPTED_EVENTS_MAX; index++) {
      expect(one.add(occupied('x'))).toEqual([]);
    }
    expect(one.add(occupied('x'))).toEqual([{ ownerId: 'app', events: 1 }]);
    // Events that no endpoint wants take no memory.
    expect(one.add({ ...occupied('x'), appId: 'none' })).toEqual([]);
    // Another app's event is kept at the cost of the one that fills the memory, and is among the first to leave.
    expect(one.add({ ...occupied('y'), appId: 'quiet' })).toEqual([{ ownerId: 'app', events: 1 }]);
    expect(one.events).toBe(ACCEPTED_EVENTS_MAX);
    const owners = one.take(9, 100).requests.map(({ request }) => request.ownerId);
    expect(owners).toContain('quiet');
    expect(one.events).toBe(ACCEPTED_EVENTS_MAX - 100);
  });
});

describe('a webhook is signed', () => {
  const webhooks = [{ url: 'http://a/', events: names, batching: true }];

  it('with the first key of the app', () => {
    const app = appWith(webhooks, [
      { key: 'old', secret: 'shh' },
      { key: 'new', secret: 'psst' },
    ]);
    expect(signForApp(app, 'http://a/', '{"é":1}')).toEqual({
      ok: true,
      headers: {
        'content-type': 'application/json',
        'user-agent': 'pusher-webhooks',
        'x-pusher-key': 'old',
        'x-pusher-signature': createHmac('sha256', 'shh').update('{"é":1}').digest('hex'),
      },
    });
  });

  it('not at all if the app, its webhook or its keys were deleted', () => {
    expect(signForApp(undefined, 'http://a/', '')).toMatchObject({ ok: false });
    expect(signForApp(appWith([]), 'http://a/', '')).toMatchObject({ ok: false });
    expect(signForApp(appWith(webhooks, []), 'http://a/', '')).toMatchObject({ ok: false });
  });
});

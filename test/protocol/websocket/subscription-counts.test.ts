import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { newApp } from '../../../testing/servers/test-app.ts';

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare();
});
afterAll(() => server[Symbol.asyncDispose]());

const count = (channel: string, subscriptions: number) => ({
  event: 'pusher_internal:subscription_count',
  channel,
  data: `{"subscription_count":${subscriptions}}`,
});

describe.concurrent.each([5, 6, 7])('subscription counts on protocol %d', (protocol) => {
  it('are sent to all subscribers after each subscription and unsubscription', async () => {
    const app = await newApp(server, { subscriptionCounts: true });
    await using ann = await app.connect({ protocol });
    await using bob = await app.connect({ protocol });
    await ann.subscribe('news');
    expect(await ann.receive()).toEqual(count('news', 1));
    await bob.subscribe('news');
    expect(await bob.receive()).toEqual(count('news', 2));
    expect(await ann.receive()).toEqual(count('news', 2));
    bob.send({ event: 'pusher:unsubscribe', data: { channel: 'news' } });
    expect(await ann.receive()).toEqual(count('news', 1));
    await bob.receiveNothing();
  });

  it('are sent in private and cache channels, but not in presence channels', async () => {
    const app = await newApp(server, { subscriptionCounts: true });
    await using ann = await app.connect({ protocol });
    await ann.subscribe('private-x', app.auth(ann, 'private-x'));
    expect(await ann.receive()).toEqual(count('private-x', 1));
    await ann.subscribe('presence-x', app.auth(ann, 'presence-x', '{"user_id":"1"}'));
    await ann.receiveNothing();
    await ann.subscribe('cache-x');
    expect((await ann.receive()).event).toBe('pusher:cache_miss');
    expect(await ann.receive()).toEqual(count('cache-x', 1));
  });

  it('are not sent while they are switched off for the app', async () => {
    const app = await newApp(server);
    await using ann = await app.connect({ protocol });
    await ann.subscribe('news');
    await ann.receiveNothing();
  });
});

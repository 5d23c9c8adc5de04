import { describe, expect, it } from 'bun:test';
import { RawClient } from '../../../testing/clients/raw-client.ts';
import { channelAuth } from '../../../testing/clients/sign.ts';
import { startFanfare } from '../../../testing/servers/fanfare.ts';

const count = (channel: string, subscriptions: number) => ({
  event: 'pusher_internal:subscription_count',
  channel,
  data: `{"subscription_count":${subscriptions}}`,
});

describe.each([5, 6, 7])('subscription counts on protocol %d', (protocol) => {
  it('are told to all subscribers after each subscription and unsubscription', async () => {
    await using server = await startFanfare({ app: { subscriptionCounts: true } });
    await using ann = await RawClient.connect(server, { protocol });
    await using bob = await RawClient.connect(server, { protocol });
    await ann.subscribes('news');
    expect(await ann.hears()).toEqual(count('news', 1));
    await bob.subscribes('news');
    expect(await bob.hears()).toEqual(count('news', 2));
    expect(await ann.hears()).toEqual(count('news', 2));
    bob.says({ event: 'pusher:unsubscribe', data: { channel: 'news' } });
    expect(await ann.hears()).toEqual(count('news', 1));
    await bob.hearsNothing();
  });

  it('are told of private and cache channels, and never of presence channels', async () => {
    await using server = await startFanfare({ app: { subscriptionCounts: true } });
    await using ann = await RawClient.connect(server, { protocol });
    await ann.subscribes('private-x', channelAuth(ann.socketId, 'private-x'));
    expect(await ann.hears()).toEqual(count('private-x', 1));
    await ann.subscribes('presence-x', channelAuth(ann.socketId, 'presence-x', '{"user_id":"1"}'));
    await ann.hearsNothing();
    await ann.subscribes('cache-x');
    expect((await ann.hears()).event).toBe('pusher:cache_miss');
    expect(await ann.hears()).toEqual(count('cache-x', 1));
  });

  it('are not told while the app does not have them', async () => {
    await using server = await startFanfare();
    await using ann = await RawClient.connect(server, { protocol });
    await ann.subscribes('news');
    await ann.hearsNothing();
  });
});

import { describe, expect, it } from 'bun:test';
import { EventReader } from '../../testing/clients/event-reader.ts';
import { readOverCuts } from '../../testing/clients/resuming-reader.ts';
import { signedTarget } from '../../testing/clients/sign.ts';
import { Random } from '../../testing/random.ts';
import { TcpProxy } from '../../testing/servers/tcp-proxy.ts';
import { TestApp } from '../../testing/servers/test-app.ts';
import { startCluster } from './cluster.ts';

/** Readers at servers that share Redis. */

const CHANNELS = ['private-a', 'private-b', 'private-cache-c'];
const EVENTS = 400;

describe('two servers', () => {
  it.each([1, 2])(
    'with %d threads each give a reader that is cut off each event once, in order',
    async (threads) => {
      await using servers = await startCluster(2, {
        threads,
        app: { history: [{ channels: 'private-*' }] },
      });
      const [one, two] = servers.apps as [TestApp, TestApp];
      await using front = await TcpProxy.start(one.port);
      await using back = await TcpProxy.start(two.port);
      const places = [front, back].map((proxy) => new TestApp(proxy, one));
      const { promise: hasBegun, resolve: begun } = Promise.withResolvers<void>();
      const read = readOverCuts(places, CHANNELS, { events: EVENTS, begun });
      await hasBegun;
      const random = new Random(threads);
      const sent = new Map<string, string[]>(CHANNELS.map((channel) => [channel, []]));
      for (let n = 0; n < EVENTS; n++) {
        const channel = CHANNELS[n % CHANNELS.length] ?? '';
        sent.get(channel)?.push(`${n}`);
        await (n % 2 === 0 ? one : two).trigger({ name: 'e', channel, data: `${n}` });
        if (random.chance(0.05)) for (const proxy of [front, back]) proxy.cut();
      }
      const { heard, gaps, connections } = await read;
      expect(heard).toEqual(sent);
      expect(gaps).toEqual([]);
      expect(connections).toBeGreaterThan(3);
    },
  );

  it('tell a reader who is in a presence channel at the other one, and of its changes', async () => {
    await using servers = await startCluster(2);
    const [one, two] = servers.apps as [TestApp, TestApp];
    const enter = async (app: TestApp, userId: string) => {
      const client = await app.connect();
      const data = JSON.stringify({ user_id: userId });
      await client.subscribe('presence-x', app.auth(client, 'presence-x', data));
      return client;
    };
    await using _ann = await enter(one, 'ann');
    const path = `/apps/${two.id}/channels/presence-x/stream`;
    await using reader = await EventReader.open(two, signedTarget('GET', path, two));
    const { data } = await reader.confirmed();
    expect(JSON.parse(JSON.parse(data).data).presence.ids).toEqual(['ann']);
    await using _bob = await enter(one, 'bob');
    expect(JSON.parse((await reader.event()).data)).toMatchObject({
      event: 'pusher_internal:member_added',
      data: '{"user_id":"bob"}',
    });
    const { users } = (await (await one.api('GET', '/channels/presence-x/users')).json()) as {
      users: unknown[];
    };
    expect(users).toHaveLength(2);
  });
});

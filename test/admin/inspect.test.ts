import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { admin } from '../../testing/clients/admin-api.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { newApp, type TestApp } from '../../testing/servers/test-app.ts';

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare({ threads: 2, onlyOne: 'figures' });
});
afterAll(() => server[Symbol.asyncDispose]());

const ask = (app: TestApp, path: string) => admin(server, 'GET', `/apps/${app.id}${path}`);

interface Listed {
  readonly connections: readonly { readonly socketId: string }[];
  readonly next: string | null;
}

describe('the admin API shows', () => {
  it('who is in a channel, and its remembered event', async () => {
    const app = await newApp(server);
    await using ada = await app.connect();
    await using bob = await app.connect();
    const channel = 'presence-cache-room';
    for (const [client, id] of [
      [ada, 'ada'],
      [bob, 'bob'],
    ] as const) {
      const member = JSON.stringify({ user_id: id, user_info: { name: id } });
      client.send({
        event: 'pusher:subscribe',
        data: { channel, ...app.auth(client, channel, member) },
      });
      // With the reply, the subscription is there.
      for (let received = await client.receive(); ; received = await client.receive()) {
        if (received.event === 'pusher_internal:subscription_succeeded') break;
      }
    }
    await app.trigger({ name: 'news', channel, data: '"hello"' });
    const { status, json } = await ask(app, `/channels/${channel}`);
    expect(status).toBe(200);
    expect(json).toMatchObject({
      name: channel,
      occupied: true,
      subscriptions: 2,
      users: 2,
      members: [
        { userId: 'ada', userInfo: '{"name":"ada"}' },
        { userId: 'bob', userInfo: '{"name":"bob"}' },
      ],
      cached: { name: 'news', data: '"hello"', bytes: 7 },
      moreConnections: false,
    });
    const { connections, cached } = json as Listed & { cached: { ageMs: number } };
    expect(connections.map(({ socketId }) => socketId).toSorted()).toEqual(
      [ada.socketId, bob.socketId].toSorted(),
    );
    expect(cached.ageMs).toBeLessThan(60_000);
    expect(cached).toMatchObject({ value: null });
    const append = { id: 'm1', at: 0, end: true };
    await app.trigger({ name: 'answer', channel: 'cache-value', data: 'é"', append });
    expect((await ask(app, '/channels/cache-value')).json).toMatchObject({
      cached: {
        name: 'answer',
        data: '{"id":"m1","at":0,"text":"é\\"","end":true}',
        value: { id: 'm1', length: 2, hasEnded: true },
      },
    });
    expect((await ask(app, '/channels/empty')).json).toMatchObject({
      occupied: false,
      subscriptions: 0,
      members: [],
      cached: null,
      connections: [],
    });
    expect((await ask(app, `/channels/${encodeURIComponent('a b')}`)).status).toBe(400);
  });

  it('the connections of an app on all threads, by user, channel and address', async () => {
    const app = await newApp(server);
    const path = `/app/${app.key}?protocol=7&client=js&version=8.4.0`;
    const clients = await Promise.all(Array.from({ length: 8 }, () => app.connect({ path })));
    const [first, second] = clients as [(typeof clients)[0], (typeof clients)[0]];
    await first.subscribe('a');
    first.send(app.signIn(first, { id: 'ada' }));
    expect((await first.receive()).event).toBe('pusher:signin_success');
    const list = async (query: string) => (await ask(app, `/connections${query}`)).json as Listed;
    const found: string[] = [];
    for (let next: string | null = ''; next !== null; ) {
      const page: Listed = await list(`?limit=3${next === '' ? '' : `&after=${next}`}`);
      found.push(...page.connections.map(({ socketId }) => socketId));
      next = page.next;
    }
    expect(found.toSorted()).toEqual(clients.map(({ socketId }) => socketId).toSorted());
    for (const query of ['?user=ada', '?channel=a']) {
      expect(await list(query)).toMatchObject({
        connections: [{ socketId: first.socketId, user: 'ada', channels: 1 }],
        next: null,
      });
    }
    expect((await list('?address=127.0.0.1')).connections).toHaveLength(8);
    expect((await list('?address=10.0.0.1&user=ada')).connections).toEqual([]);
    expect((await ask(app, '/connections?after=0.999999')).status).toBe(400);
    expect((await ask(app, `/connections/${second.socketId}`)).json).toMatchObject({
      socketId: second.socketId,
      user: null,
      transport: 'websocket',
      client: { name: 'js', version: '8.4.0', protocol: '7' },
      waitingBytes: 0,
      channelNames: [],
    });
    expect((await ask(app, `/connections/${first.socketId}`)).json).toMatchObject({
      channelNames: ['a'],
    });
    for (const client of clients) await client[Symbol.asyncDispose]();
  });

  it('no connection of another app, and closes one', async () => {
    const app = await newApp(server);
    const other = await newApp(server);
    await using client = await app.connect();
    const close = (of: TestApp) =>
      admin(server, 'DELETE', `/apps/${of.id}/connections/${client.socketId}`);
    expect((await ask(other, `/connections/${client.socketId}`)).status).toBe(404);
    expect((await close(other)).status).toBe(404);
    expect(await close(app)).toMatchObject({
      status: 200,
      json: { socketId: client.socketId, closed: true },
    });
    expect((await client.closed).code).toBe(4009);
  });
});

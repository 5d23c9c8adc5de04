import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { api, hmac } from '../../../testing/clients/sign.ts';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { type AppClient, newApp, type TestApp } from '../../../testing/servers/test-app.ts';

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare({ channels: { authorizationTimeoutSeconds: 1 } });
});
afterAll(() => server[Symbol.asyncDispose]());

/** Signs in and expects the confirmation. */
async function signIn(app: TestApp, client: AppClient, user: object): Promise<void> {
  client.send(app.signIn(client, user));
  expect(await client.receive()).toEqual({
    event: 'pusher:signin_success',
    data: JSON.stringify({ user_data: JSON.stringify(user) }),
  });
}

async function hearsWatchlist(client: AppClient): Promise<unknown> {
  const received = await client.receive();
  expect(Object.keys(received).sort()).toEqual(['data', 'event']);
  expect(received.event).toBe('pusher_internal:watchlist_events');
  return JSON.parse(String(received.data)).events;
}

const error = (message: string, code: number | null = null) => ({
  event: 'pusher:error',
  data: { code, message },
});

describe.concurrent.each([5, 6, 7])('on protocol %d', (protocol) => {
  describe('a sign-in', () => {
    it('is confirmed with the same user data, to the byte', async () => {
      const app = await newApp(server);
      await using client = await app.connect({ protocol });
      await signIn(app, client, { id: 'ann', user_info: { name: 'Ann é ✓' } });
    });

    it('may come as a string of JSON', async () => {
      const app = await newApp(server);
      await using client = await app.connect({ protocol });
      const { event, data } = app.signIn(client, { id: 'ann' });
      client.send({ event, data: JSON.stringify(data) });
      expect((await client.receive()).event).toBe('pusher:signin_success');
    });

    it('is refused with an error when it is not signed by the app, and the connection stays open', async () => {
      const app = await newApp(server);
      await using client = await app.connect({ protocol });
      const userData = '{"id":"ann"}';
      const signed = `${client.socketId}::user::${userData}`;
      const send = (auth: string, user_data = userData) =>
        client.send({ event: 'pusher:signin', data: { auth, user_data } });

      send(`${app.key}:0000`);
      expect(await client.receive()).toEqual(
        error(`Invalid signature: Expected HMAC SHA256 hex digest of ${signed}, but got 0000`),
      );
      send(`other:${hmac(signed, app.secret)}`);
      expect(await client.receive()).toEqual(error("Invalid key in sign-in auth data: 'other'"));
      send('nonsense');
      expect(await client.receive()).toEqual(
        error("Auth value for sign-in is invalid: should be of format 'key:signature'"),
      );
      await client.receiveNothing();
    });

    it('is refused without an id that is a string and is allowed in a channel name', async () => {
      const app = await newApp(server);
      await using client = await app.connect({ protocol });
      for (const user of [{}, { id: '' }, { id: 7 }, { id: 'a b' }, { id: 'x'.repeat(190) }]) {
        client.send(app.signIn(client, user));
        expect(await client.receive()).toMatchObject({
          event: 'pusher:error',
          data: { code: null },
        });
      }
      for (const data of [{}, { auth: 'a:b' }, { user_data: '{}' }, { auth: 1, user_data: 2 }]) {
        client.send({ event: 'pusher:signin', data });
        expect(await client.receive()).toMatchObject({ event: 'pusher:error' });
      }
      await client.receiveNothing();
    });

    it('as the same user again is harmless, and as another user is refused', async () => {
      const app = await newApp(server);
      await using client = await app.connect({ protocol });
      await signIn(app, client, { id: 'ann' });
      await signIn(app, client, { id: 'ann' });
      client.send(app.signIn(client, { id: 'bob' }));
      expect(await client.receive()).toEqual(error('The connection is signed in as ann already'));
      await client.subscribe('#server-to-user-ann');
    });
  });

  describe('the channel of a user', () => {
    it('accepts only connections that are signed in as the user', async () => {
      const app = await newApp(server);
      await using client = await app.connect({ protocol });
      for (const user of [undefined, { id: 'bob' }]) {
        if (user !== undefined) await signIn(app, client, user);
        client.send({
          event: 'pusher:subscribe',
          data: { channel: '#server-to-user-ann', auth: '' },
        });
        expect(await client.receive()).toMatchObject({
          event: 'pusher:error',
          data: { code: null },
        });
        expect(await client.receive()).toMatchObject({ event: 'pusher:subscription_error' });
      }
    });

    it('carries what a backend sends to the user to each of their connections, and to nobody else', async () => {
      const app = await newApp(server);
      await using first = await app.connect({ protocol });
      await using second = await app.connect({ protocol });
      await using other = await app.connect({ protocol });
      for (const client of [first, second]) {
        await signIn(app, client, { id: 'ann' });
        await client.subscribe('#server-to-user-ann');
      }
      await signIn(app, other, { id: 'bob' });
      await other.subscribe('#server-to-user-bob');
      await app.trigger({ name: 'note', channels: ['#server-to-user-ann'], data: 'x' });
      for (const client of [first, second]) {
        expect(await client.receive()).toEqual({
          event: 'note',
          channel: '#server-to-user-ann',
          data: 'x',
        });
      }
      await other.receiveNothing();
      const listed = await app.api('GET', '/channels');
      expect(await listed.json()).toEqual({ channels: {} });
    });
  });

  describe('a presence channel', () => {
    it('accepts a signed-in connection without channel data, as its user', async () => {
      const app = await newApp(server);
      await using client = await app.connect({ protocol });
      await signIn(app, client, { id: 'ann', user_info: { name: 'Ann' } });
      const channel = 'presence-room';
      const { data } = await client.subscribe(channel, app.auth(client, channel));
      expect(JSON.parse(String(data))).toEqual({
        presence: { count: 1, ids: ['ann'], hash: { ann: { name: 'Ann' } } },
      });
    });
  });

  describe('a watchlist', () => {
    it('reports first who is online and offline now, then who comes online', async () => {
      const app = await newApp(server, { watchlists: true });
      await using ann = await app.connect({ protocol });
      await using bob = await app.connect({ protocol });
      await using again = await app.connect({ protocol });
      await signIn(app, bob, { id: 'bob' });
      await signIn(app, ann, { id: 'ann', watchlist: ['bob', 'eve'] });
      expect(await hearsWatchlist(ann)).toEqual([
        { name: 'online', user_ids: ['bob'] },
        { name: 'offline', user_ids: ['eve'] },
      ]);
      await using eve = await app.connect({ protocol });
      await signIn(app, eve, { id: 'eve' });
      expect(await hearsWatchlist(ann)).toEqual([{ name: 'online', user_ids: ['eve'] }]);
      // Further connections of an online user cause no event, whether they open or close.
      await signIn(app, again, { id: 'bob' });
      await again[Symbol.asyncDispose]();
      await ann.receiveNothing();
    });

    it('reports that a user went offline 3 seconds after their last connection ended', async () => {
      const app = await newApp(server, { watchlists: true });
      await using ann = await app.connect({ protocol });
      const bob = await app.connect({ protocol });
      await signIn(app, bob, { id: 'bob' });
      await signIn(app, ann, { id: 'ann', watchlist: ['bob'] });
      await hearsWatchlist(ann);
      const left = performance.now();
      await bob[Symbol.asyncDispose]();
      expect(await hearsWatchlist(ann)).toEqual([{ name: 'offline', user_ids: ['bob'] }]);
      expect(performance.now() - left).toBeGreaterThan(2900);
    });

    it('reports nothing when a user comes back at once', async () => {
      const app = await newApp(server, { watchlists: true });
      await using ann = await app.connect({ protocol });
      const bob = await app.connect({ protocol });
      await signIn(app, bob, { id: 'bob' });
      await signIn(app, ann, { id: 'ann', watchlist: ['bob'] });
      await hearsWatchlist(ann);
      await bob[Symbol.asyncDispose]();
      await using back = await app.connect({ protocol });
      await signIn(app, back, { id: 'bob' });
      await ann.receiveNothing();
    });

    it('is cut after 100 users, and reports that with 4302', async () => {
      const app = await newApp(server, { watchlists: true });
      await using ann = await app.connect({ protocol });
      const watchlist = Array.from({ length: 101 }, (_, n) => `u${n}`);
      await signIn(app, ann, { id: 'ann', watchlist });
      const [offline] = (await hearsWatchlist(ann)) as { user_ids: string[] }[];
      expect(offline?.user_ids).toEqual(watchlist.slice(0, 100));
      expect(await ann.receive()).toMatchObject({ event: 'pusher:error', data: { code: 4302 } });
      await using last = await app.connect({ protocol });
      await signIn(app, last, { id: 'u100' });
      await ann.receiveNothing();
    });

    it('is ignored if watchlists are switched off', async () => {
      const app = await newApp(server);
      await using ann = await app.connect({ protocol });
      await signIn(app, ann, { id: 'ann', watchlist: ['bob'] });
      await ann.receiveNothing();
    });
  });

  describe('terminating the connections of a user', () => {
    it('ends those that are signed in as the user with 4009, and no others', async () => {
      const app = await newApp(server);
      await using first = await app.connect({ protocol });
      await using second = await app.connect({ protocol });
      await using other = await app.connect({ protocol });
      await signIn(app, first, { id: 'ann' });
      await signIn(app, second, { id: 'ann' });
      await signIn(app, other, { id: 'bob' });
      const path = '/users/ann/terminate_connections';
      const answer = await app.api('POST', path, { body: '{}' });
      expect([answer.status, await answer.text()]).toEqual([200, '{}']);
      for (const client of [first, second]) {
        expect(await client.receive()).toEqual(
          error('Connection terminated by the application', 4009),
        );
        expect(await client.closed).toMatchObject({ code: 4009 });
      }
      await other.receiveNothing();
      // The user may come back.
      await using back = await app.connect({ protocol });
      await signIn(app, back, { id: 'ann' });
    });
  });

  describe('an app that accepts authorised connections only', () => {
    const settings = { authorizedConnectionsOnly: true, limits: { connections: 1 } };

    it('ends a connection that was not authorised in time with 4009', async () => {
      const app = await newApp(server, settings);
      await using client = await app.connect({ protocol });
      await client.subscribe('public');
      expect(await client.receive()).toEqual(
        error('Connection not authorized within timeout', 4009),
      );
      expect(await client.closed).toEqual({
        code: 4009,
        reason: 'Connection not authorized within timeout',
      });
    });

    it('counts a connection for the quota once it is authorised', async () => {
      const app = await newApp(server, settings);
      await using first = await app.connect({ protocol });
      await using second = await app.connect({ protocol });
      await signIn(app, first, { id: 'ann' });
      await using third = await app.connect({ protocol });
      const channel = 'private-x';
      third.send({ event: 'pusher:subscribe', data: { channel, ...app.auth(third, channel) } });
      expect(await third.closed).toMatchObject({ code: 4004 });
      expect(await second.closed).toMatchObject({ code: 4009 });
      await first.receiveNothing();
    });
  });
});

describe('terminate_connections', () => {
  it('accepts the path without the app as well, as the Python library sends it', async () => {
    const app = await newApp(server);
    await using client = await app.connect();
    await signIn(app, client, { id: 'ann' });
    const answer = await api(server, 'POST', '/users/ann/terminate_connections', {
      key: app.key,
      secret: app.secret,
      body: '{}',
    });
    expect([answer.status, await answer.text()]).toEqual([200, '{}']);
    expect(await client.closed).toMatchObject({ code: 4009 });
  });

  it('succeeds for a user without connections, and accepts no parameters', async () => {
    const app = await newApp(server);
    const path = '/users/nobody/terminate_connections';
    expect((await app.api('POST', path)).status).toBe(200);
    const query = await app.api('POST', path, { query: { info: 'x' } });
    expect([query.status, await query.text()]).toEqual([
      400,
      'The following query string parameters are extraneous: info',
    ]);
    expect((await app.api('POST', path, { body: '{"a":1}' })).status).toBe(400);
  });
});

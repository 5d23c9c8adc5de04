import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import Echo from 'laravel-echo';
import PusherJs, { type Options } from 'pusher-js';
import {
  connect,
  isUserChannelEntered,
  optionsFor,
} from '../../testing/clients/official-client.ts';
import { RawClient } from '../../testing/clients/raw-client.ts';
import { Inbox } from '../../testing/inbox.ts';
import { type AppBackend, startAppBackend } from '../../testing/servers/app-backend.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { restart } from '../../testing/servers/restart.ts';
import { type ReceivedEvent, userInNode } from './client-process.ts';
import type { JsonProcess } from './json-process.ts';
import { LibraryProcess } from './library-process.ts';

/** Users, watchlists and subscription counts with the official libraries, unchanged from npm. */

let server: Fanfare;
let backend: AppBackend;

beforeAll(async () => {
  server = await startFanfare({ app: { watchlists: true, subscriptionCounts: true } });
  backend = startAppBackend(server);
});

afterAll(async () => {
  backend[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
});

const connectAs = (user: string, watchlist: readonly string[] = []) =>
  connect(server, { backend, user, watchlist });

describe('signin of pusher-js', () => {
  it('signs the connection in as the user whom the backend names', async () => {
    using ann = connectAs('ann');
    await ann.signedIn();
    expect(ann.pusher.user.user_data).toEqual({ id: 'ann', user_info: { name: 'ANN' } });
    await ann.pusher.user.signinDonePromise;
  });

  it('can be called before there is a connection, and more than once', async () => {
    using ann = connectAs('ann-early');
    ann.pusher.signin();
    const received = await ann.signedIn();
    ann.pusher.signin();
    await backend.library.sendToUser('ann-early', 'note', 1);
    expect(await received.next()).toEqual(['note', 1]);
    expect(backend.signedIn.filter((user) => user === 'ann-early')).toHaveLength(1);
  });

  it('notifies its handlers that the backend refused, and the connection stays open', async () => {
    using stranger = connect(server, { backend });
    const received = new Inbox<unknown>('The stranger');
    stranger.pusher.user.bind('pusher:signin_error', (error: unknown) => received.put(error));
    stranger.pusher.signin();
    expect(await received.next()).toMatchObject({ type: 'AuthError', status: 403 });
    await stranger.subscribe('public-for-strangers').subscribed();
  });

  it('is an error of the connection if the server refuses, and the connection stays open', async () => {
    using forger = connect(server, {
      userAuthentication: {
        endpoint: '',
        transport: 'ajax',
        customHandler: (_, answer) =>
          answer(null, { auth: `${APP.key}:forged`, user_data: '{"id":"ann"}' }),
      },
    });
    forger.pusher.signin();
    const [, error] = await forger.connection.first(([event]) => event === 'error');
    expect(error).toEqual({
      type: 'PusherError',
      data: { code: null, message: expect.stringMatching(/^Invalid signature: /) },
    });
    expect(forger.pusher.connection.state).toBe('connected');
    await forger.subscribe('public-for-forgers').subscribed();
  });

  it('is repeated with each new connection', async () => {
    using ann = connectAs('ann-again');
    const received = await ann.signedIn();
    ann.pusher.disconnect();
    ann.pusher.connect();
    await ann.connection.first(isUserChannelEntered);
    expect(backend.signedIn.filter((user) => user === 'ann-again')).toHaveLength(2);
    await backend.library.sendToUser('ann-again', 'note', 'after');
    expect(await received.next()).toEqual(['note', 'after']);
  });
});

describe('sendToUser', () => {
  it('reaches each connection of the user, and no other', async () => {
    using first = connectAs('ann-to');
    using second = connectAs('ann-to');
    using other = connectAs('bob-to');
    const received = [await first.signedIn(), await second.signedIn()];
    const receivedByOther = await other.signedIn();

    await backend.library.sendToUser('ann-to', 'note', { text: 'Fanfare! 🎺' });
    await backend.library.sendToUser('bob-to', 'note', 'for Bob');

    for (const one of received) expect(await one.next()).toEqual(['note', { text: 'Fanfare! 🎺' }]);
    expect(await receivedByOther.next()).toEqual(['note', 'for Bob']);
  });

  it('succeeds if the user has no connection', async () => {
    const answer = await backend.library.sendToUser('nobody', 'note', 1);
    expect([answer.status, await answer.text()]).toEqual([200, '{}']);
  });
});

describe('the watchlist of pusher-js', () => {
  it('reports who is online and offline, who comes, and who has left after 3 s', async () => {
    using bob = connectAs('bob-watched');
    await bob.signedIn();
    using ann = connectAs('ann-watching', ['bob-watched', 'eve-watched']);
    const { watched } = await ann.signedIn();
    expect(await watched.next()).toEqual(['online', { name: 'online', user_ids: ['bob-watched'] }]);
    expect(await watched.next()).toEqual([
      'offline',
      { name: 'offline', user_ids: ['eve-watched'] },
    ]);
    using eve = connectAs('eve-watched');
    await eve.signedIn();
    expect(await watched.next()).toEqual(['online', { name: 'online', user_ids: ['eve-watched'] }]);
    const wentAtMs = performance.now();
    bob.pusher.disconnect();
    expect(await watched.next()).toEqual([
      'offline',
      { name: 'offline', user_ids: ['bob-watched'] },
    ]);
    expect(performance.now() - wentAtMs).toBeGreaterThan(2900);
  });
});

describe('terminateUserConnections', () => {
  it('closes each connection of the user, and the clients do not reconnect', async () => {
    using ann = connectAs('ann-ends');
    using other = connectAs('ann-stays');
    await ann.signedIn();
    const receivedByOther = await other.signedIn();

    const answer = await backend.library.terminateUserConnections('ann-ends');
    expect([answer.status, await answer.text()]).toEqual([200, '{}']);

    const [, error] = await ann.connection.first(([event]) => event === 'error');
    expect(error).toMatchObject({ type: 'PusherError', data: { code: 4009 } });
    const [, change] = await ann.connection.first(([event]) => event === 'state_change');
    expect(change).toEqual({ previous: 'connected', current: 'disconnected' });
    // Another client has connected, signed in and received an event; this one has still not reconnected.
    using later = connectAs('later');
    await later.signedIn();
    await backend.library.sendToUser('ann-stays', 'note', 1);
    expect(await receivedByOther.next()).toEqual(['note', 1]);
    expect(ann.pusher.connection.state).toBe('disconnected');
    // It can connect again when the app calls connect().
    ann.pusher.connect();
    await ann.connection.first(isUserChannelEntered);
  });

  it('does not close connections of presence members who are not signed in', async () => {
    using ann = connectAs('ann-present');
    const channel = ann.subscribe('presence-room');
    await channel.subscribed();
    await backend.library.terminateUserConnections('ann-present');
    await backend.library.trigger('presence-room', 'event', 'still here');
    expect(await channel.first(([event]) => event === 'event')).toEqual(['event', 'still here']);
  });
});

describe('subscription counts in pusher-js', () => {
  it('arrive as pusher:subscription_count, and are kept in the channel', async () => {
    using ann = connect(server);
    using bob = connect(server);
    const received = ann.subscribe('counted');
    await received.subscribed();
    expect(await received.next()).toEqual(['pusher:subscription_count', { subscription_count: 1 }]);
    expect(received.channel).toHaveProperty('subscriptionCount', 1);
    const receivedByBob = bob.subscribe('counted');
    await receivedByBob.subscribed();
    expect(await receivedByBob.next()).toEqual([
      'pusher:subscription_count',
      { subscription_count: 2 },
    ]);
    expect(await received.next()).toEqual(['pusher:subscription_count', { subscription_count: 2 }]);
    expect(received.channel).toHaveProperty('subscriptionCount', 2);
    bob.pusher.unsubscribe('counted');
    expect(await received.next()).toEqual(['pusher:subscription_count', { subscription_count: 1 }]);
  });

  it('never arrive in presence channels', async () => {
    using ann = connectAs('ann-counted');
    const received = ann.subscribe('presence-counted');
    await received.subscribed();
    await backend.library.trigger('presence-counted', 'event', 1);
    expect(await received.next()).toEqual(['event', 1]);
  });
});

for (const broadcaster of ['pusher', 'reverb'] as const) {
  it(`Echo's broadcaster "${broadcaster}" signs in and receives events for the user`, async () => {
    const user = `echo-${broadcaster}`;
    const options = {
      key: APP.key,
      Pusher: PusherJs,
      wsHost: '127.0.0.1',
      wsPort: server.port,
      forceTLS: false,
      enabledTransports: ['ws', 'wss'] satisfies Options['enabledTransports'],
      authEndpoint: backend.authEndpoint,
      userAuthentication: {
        endpoint: backend.userAuthEndpoint,
        transport: 'ajax' as const,
        headers: { 'x-user': user },
      },
      withoutInterceptors: true,
    };
    const echo =
      broadcaster === 'pusher'
        ? new Echo({ ...options, broadcaster, cluster: 'local' })
        : new Echo({ ...options, broadcaster });
    using _echo = { [Symbol.dispose]: () => echo.disconnect() };
    const { pusher } = echo.connector;
    const entered = new Inbox<readonly [string, unknown]>('Echo');
    const received = new Inbox<unknown>("Echo's user");
    pusher.connection.bind_global((event: string, data: unknown) => entered.put([event, data]));
    pusher.user.bind('note', (data: unknown) => received.put(data));
    echo.connector.signin();
    await entered.first(isUserChannelEntered);

    await backend.library.sendToUser(user, 'note', { to: user });

    expect(await received.next()).toEqual({ to: user });
  });
}

for (const [runtime, command] of [
  ['Node', 'node'],
  ['Bun', process.execPath],
] as const) {
  it(`pusher in ${runtime} signs users in, sends them events and closes their connections`, async () => {
    using library = LibraryProcess.open(command, server);
    await using client = await RawClient.connect(server);
    const id = `ann-in-${runtime}`;
    const data = await library.authenticateUser(client.socketId, { id, user_info: { age: 7 } });
    client.send({ event: 'pusher:signin', data });
    expect(await client.receive()).toEqual({
      event: 'pusher:signin_success',
      data: JSON.stringify({ user_data: data.user_data }),
    });
    const channel = `#server-to-user-${id}`;
    await client.subscribe(channel);
    expect(await library.sendToUser(id, 'note', { a: 1 })).toEqual({ status: 200, body: {} });
    expect(await client.receive()).toEqual({ event: 'note', channel, data: '{"a":1}' });
    expect(await library.terminateUserConnections(id)).toEqual({ status: 200, body: {} });
    expect(await client.closed).toMatchObject({ code: 4009 });
  });
}

describe('pusher-js in Node', () => {
  const signedIn = (client: JsonProcess<ReceivedEvent>) =>
    client.printed.first(([channel, what]) => channel === 'user' && what === 'signed in');

  it('signs in, receives events for its user and of its watchlist, and ends when it is terminated', async () => {
    using ann = userInNode(
      optionsFor(server, { backend, user: 'node-ann', watchlist: ['node-bob'] }),
    );
    expect(await signedIn(ann)).toEqual(['user', 'signed in', 'node-ann']);
    using bob = userInNode(optionsFor(server, { backend, user: 'node-bob' }));
    await signedIn(bob);
    expect(await ann.printed.first(([, what]) => what === 'online')).toEqual([
      'watchlist',
      'online',
      { name: 'online', user_ids: ['node-bob'] },
    ]);
    await backend.library.sendToUser('node-bob', 'note', { n: 1 });
    expect(await bob.printed.next()).toEqual(['user', 'note', { n: 1 }]);
    await backend.library.terminateUserConnections('node-bob');
    expect(await bob.printed.next()).toEqual(['connection', 'disconnected']);
  });

  it('signs in again by itself after a crash of the server', async () => {
    await using before = await startFanfare({ app: { watchlists: true } });
    using ownBackend = startAppBackend(before);
    using ann = userInNode(optionsFor(before, { backend: ownBackend, user: 'ann' }));
    await signedIn(ann);
    await using _after = await restart(before, 'SIGKILL');
    await signedIn(ann);
    await ownBackend.library.sendToUser('ann', 'note', 'back');
    expect(await ann.printed.first(([, what]) => what === 'note')).toEqual([
      'user',
      'note',
      'back',
    ]);
  }, 180_000);
});

import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import type { PresenceChannel } from 'pusher-js';
import { connect } from '../../testing/clients/official-client.ts';
import { RawClient } from '../../testing/clients/raw-client.ts';
import { Inbox } from '../../testing/inbox.ts';
import { type AppBackend, startAppBackend } from '../../testing/servers/app-backend.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';

/** The official JavaScript client, in its build for servers, unchanged from npm. */

let server: Fanfare;
let backend: AppBackend;

beforeAll(async () => {
  server = await startFanfare({
    app: { clientEvents: true },
    moreApps: [{ id: '4', keys: [{ key: 'no-client-events', secret: 'secret' }] }],
  });
  backend = startAppBackend(server);
});

afterAll(async () => {
  backend[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
});

const connectAs = (user: string) => connect(server, { backend, user });

describe('public channels', () => {
  it('deliver an event to all subscribers', async () => {
    using ann = connect(server);
    using bob = connect(server);
    const receivedByAnn = ann.subscribe('news');
    const receivedByBob = bob.subscribe('news');
    await Promise.all([receivedByAnn.subscribed(), receivedByBob.subscribed()]);

    await backend.library.trigger('news', 'headline', { text: 'Fanfare!' });

    expect(await receivedByAnn.next()).toEqual(['headline', { text: 'Fanfare!' }]);
    expect(await receivedByBob.next()).toEqual(['headline', { text: 'Fanfare!' }]);
  });

  it('deliver the data exactly as the backend sent it', async () => {
    using client = connect(server);
    const received = client.subscribe('exact');
    await received.subscribed();

    const values = [
      { text: 'quotes " and \\ and \n and \u2028, 日本語, 🎺', nested: { list: [1, 2.5, null] } },
      ['a', 'list'],
      'a text that is no JSON',
      { empty: {} },
      'x'.repeat(10_240),
    ];
    for (const value of values) await backend.library.trigger('exact', 'event', value);

    for (const value of values) expect(await received.next()).toEqual(['event', value]);
  });

  it('do not deliver to the socket id that the backend excludes', async () => {
    using ann = connect(server);
    using bob = connect(server);
    const receivedByAnn = ann.subscribe('chat');
    const receivedByBob = bob.subscribe('chat');
    await Promise.all([receivedByAnn.subscribed(), receivedByBob.subscribed()]);

    await backend.library.trigger('chat', 'said', 'by Ann', {
      socket_id: ann.pusher.connection.socket_id,
    });
    await backend.library.trigger('chat', 'said', 'by nobody');

    expect(await receivedByAnn.next()).toEqual(['said', 'by nobody']);
    expect(await receivedByBob.next()).toEqual(['said', 'by Ann']);
    expect(await receivedByBob.next()).toEqual(['said', 'by nobody']);
  });

  it('deliver nothing after an unsubscription, and deliver again after a new subscription', async () => {
    using client = connect(server);
    const first = client.subscribe('on-and-off');
    await first.subscribed();
    client.pusher.unsubscribe('on-and-off');
    // This confirmation shows that the server has read the unsubscription.
    const other = client.subscribe('other');
    await other.subscribed();

    await backend.library.trigger('on-and-off', 'event', 'while away');
    await backend.library.trigger('other', 'event', 'meanwhile');
    expect(await other.next()).toEqual(['event', 'meanwhile']);

    const again = client.subscribe('on-and-off');
    await again.subscribed();
    await backend.library.trigger('on-and-off', 'event', 'back');
    expect(await again.next()).toEqual(['event', 'back']);
  });

  it('can be left while the subscription is still pending', async () => {
    using client = connect(server);
    const fickle = client.subscribe('fickle');
    await client.connected();
    client.pusher.unsubscribe('fickle');
    client.subscribe('fickle');
    expect(await fickle.subscribed()).toEqual({});

    await backend.library.trigger('fickle', 'event', 1);
    expect(await fickle.next()).toEqual(['event', 1]);
  });

  it('can be many, subscribed to before the client is connected', async () => {
    using client = connect(server);
    const channels = Array.from({ length: 100 }, (_, index) => client.subscribe(`many-${index}`));
    await Promise.all(channels.map((channel) => channel.subscribed()));

    await backend.library.trigger(
      channels.map(({ channel }) => channel.name),
      'event',
      'to all',
    );

    for (const channel of channels) expect(await channel.next()).toEqual(['event', 'to all']);
  });
});

describe('private channels', () => {
  it('accept clients that the backend authorises', async () => {
    using ann = connectAs('ann');
    const received = ann.subscribe('private-orders');
    expect(await received.subscribed()).toEqual({});

    await backend.library.trigger('private-orders', 'paid', { order: 7 });
    expect(await received.next()).toEqual(['paid', { order: 7 }]);
  });

  it('notify their handlers that the backend refused', async () => {
    using stranger = connect(server, { backend });
    const received = stranger.subscribe('private-orders');

    const [event, data] = await received.next();

    expect(event).toBe('pusher:subscription_error');
    expect(data).toMatchObject({ type: 'AuthError', status: 403 });
    expect(stranger.pusher.connection.state).toBe('connected');
  });

  it('notify their handlers and the connection that the signature is wrong', async () => {
    using forger = connect(server, {
      channelAuthorization: {
        customHandler: (_, answer) => answer(null, { auth: `${APP.key}:${'0'.repeat(64)}` }),
      },
    });
    const received = forger.subscribe('private-orders');
    const socketId = await forger.connected();

    const [event, data] = await received.next();
    expect(event).toBe('pusher:subscription_error');
    expect(data).toEqual({
      type: 'AuthError',
      status: 401,
      error: expect.stringContaining(
        `Invalid signature: Expected HMAC SHA256 hex digest of ${socketId}:private-orders, but got 0000`,
      ),
    });
    const [, error] = await forger.connection.first(([name]) => name === 'error');
    expect(error).toMatchObject({ type: 'PusherError', data: { code: null } });
    expect(forger.pusher.connection.state).toBe('connected');
  });

  it('can be left and subscribed to again, authorised each time', async () => {
    using ann = connectAs('ann');
    await ann.subscribe('private-revolving-door').subscribed();
    ann.pusher.unsubscribe('private-revolving-door');
    await ann.subscribe('private-revolving-door').subscribed();

    const asked = backend.asked.filter((channel) => channel === 'private-revolving-door');
    expect(asked).toHaveLength(2);
  });
});

describe('encrypted channels', () => {
  it('decrypt events that the server library encrypted', async () => {
    using ann = connectAs('ann');
    const received = ann.subscribe('private-encrypted-diary');
    await received.subscribed();

    await backend.library.trigger('private-encrypted-diary', 'entry', { text: 'nobody knows' });

    expect(await received.next()).toEqual(['entry', { text: 'nobody knows' }]);
  });

  it('show the server only ciphertext', async () => {
    await using eavesdropper = await RawClient.connect(server);
    const { auth } = backend.library.authorizeChannel(
      eavesdropper.socketId,
      'private-encrypted-diary',
    );
    await eavesdropper.subscribe('private-encrypted-diary', { auth });

    await backend.library.trigger('private-encrypted-diary', 'entry', { text: 'nobody knows' });

    const { data } = await eavesdropper.receive();
    expect(Object.keys(JSON.parse(String(data)))).toEqual(['nonce', 'ciphertext']);
    expect(data).not.toContain('nobody knows');
  });
});

describe('presence channels', () => {
  /** The members that pusher-js knows. */
  const membersOf = (channel: unknown) => {
    const { members } = channel as PresenceChannel;
    return { count: members.count, me: members.me, members: members.members };
  };

  it('give a member the list of members, itself included', async () => {
    using ann = connectAs('ann');
    using bob = connectAs('bob');
    const room = 'presence-who-is-there';
    await ann.subscribe(room).subscribed();
    const seenByBob = bob.subscribe(room);
    await seenByBob.subscribed();

    expect(membersOf(seenByBob.channel)).toEqual({
      count: 2,
      me: { id: 'bob', info: { name: 'BOB' } },
      members: { ann: { name: 'ANN' }, bob: { name: 'BOB' } },
    });
  });

  it('notify the others who joins and who leaves, and keep count', async () => {
    using ann = connectAs('ann');
    const room = 'presence-coming-and-going';
    const seenByAnn = ann.subscribe(room);
    await seenByAnn.subscribed();
    expect(membersOf(seenByAnn.channel).count).toBe(1);

    const bob = connectAs('bob');
    await bob.subscribe(room).subscribed();
    expect(await seenByAnn.next()).toEqual([
      'pusher:member_added',
      { id: 'bob', info: { name: 'BOB' } },
    ]);
    expect(membersOf(seenByAnn.channel).count).toBe(2);

    bob.pusher.disconnect();
    expect(await seenByAnn.next()).toEqual([
      'pusher:member_removed',
      { id: 'bob', info: { name: 'BOB' } },
    ]);
    expect(membersOf(seenByAnn.channel)).toMatchObject({
      count: 1,
      members: { ann: { name: 'ANN' } },
    });
  });

  it('count a user with several connections once, until the last of them leaves', async () => {
    using ann = connectAs('ann');
    using bobsLaptop = connectAs('bob');
    using bobsPhone = connectAs('bob');
    const room = 'presence-two-devices';
    const seenByAnn = ann.subscribe(room);
    await seenByAnn.subscribed();
    await bobsLaptop.subscribe(room).subscribed();
    const seenByPhone = bobsPhone.subscribe(room);
    await seenByPhone.subscribed();
    expect(membersOf(seenByPhone.channel).count).toBe(2);

    bobsLaptop.pusher.unsubscribe(room);
    await bobsLaptop.subscribe('done').subscribed();
    await backend.library.trigger(room, 'event', 'the laptop has left');
    bobsPhone.pusher.unsubscribe(room);

    expect((await seenByAnn.next())[0]).toBe('pusher:member_added');
    expect(await seenByAnn.next()).toEqual(['event', 'the laptop has left']);
    expect((await seenByAnn.next())[0]).toBe('pusher:member_removed');
  });

  it('notify the handlers of a client beyond the limit that the channel is full', async () => {
    await using small = await startFanfare({ app: { limits: { presenceMembers: 1 } } });
    using backendOfSmall = startAppBackend(small);
    using ann = connect(small, { backend: backendOfSmall, user: 'ann' });
    using bob = connect(small, { backend: backendOfSmall, user: 'bob' });
    await ann.subscribe('presence-booth').subscribed();

    expect(await bob.subscribe('presence-booth').next()).toEqual([
      'pusher:subscription_error',
      {
        type: 'LimitReached',
        status: 4100,
        error: 'Presence channel presence-booth is full: at most 1 members',
      },
    ]);
  });
});

describe('cache channels', () => {
  for (const prefix of [
    'cache-',
    'private-cache-',
    'presence-cache-',
    'private-encrypted-cache-',
  ] as const) {
    it(`${prefix}… give the last event to later subscribers`, async () => {
      const name = `${prefix}scores`;
      await backend.library.trigger(name, 'score', { home: 0 });
      await backend.library.trigger(name, 'score', { home: 1 });
      using ann = connectAs('ann');
      const received = ann.subscribe(name);
      await received.subscribed();

      expect(await received.next()).toEqual(['score', { home: 1 }]);
    });

    it(`${prefix}… notify a subscriber that nothing is cached`, async () => {
      const name = `${prefix}nothing`;
      using ann = connectAs('ann');
      const received = ann.subscribe(name);
      await received.subscribed();

      expect(await received.next()).toEqual(['pusher:cache_miss', {}]);
    });
  }

  it('do not cache client events', async () => {
    const name = 'private-cache-clients';
    using ann = connectAs('ann');
    using bob = connectAs('bob');
    using carl = connectAs('carl');
    const seenByAnn = ann.subscribe(name);
    const seenByBob = bob.subscribe(name);
    await Promise.all([seenByAnn.subscribed(), seenByBob.subscribed()]);
    await seenByBob.next();
    seenByAnn.channel.trigger('client-event', {});
    expect(await seenByBob.next()).toEqual(['client-event', {}]);

    const seenByCarl = carl.subscribe(name);
    await seenByCarl.subscribed();
    expect(await seenByCarl.next()).toEqual(['pusher:cache_miss', {}]);
  });
});

describe('client events', () => {
  it('reach the others in a private channel, and not their sender', async () => {
    using ann = connectAs('ann');
    using bob = connectAs('bob');
    const seenByAnn = ann.subscribe('private-game');
    const seenByBob = bob.subscribe('private-game');
    await Promise.all([seenByAnn.subscribed(), seenByBob.subscribed()]);

    expect(seenByAnn.channel.trigger('client-move', { to: 'e4' })).toBe(true);
    expect(await seenByBob.next()).toEqual(['client-move', { to: 'e4' }]);
    seenByBob.channel.trigger('client-move', { to: 'e5' });
    expect(await seenByAnn.next()).toEqual(['client-move', { to: 'e5' }]);
  });

  it('carry the user id of their sender in a presence channel', async () => {
    using ann = connectAs('ann');
    using bob = connectAs('bob');
    const seenByAnn = ann.subscribe('presence-game');
    await seenByAnn.subscribed();
    const seenByBob = bob.subscribe('presence-game');
    await seenByBob.subscribed();
    const moves = new Inbox<unknown>('Bob');
    seenByBob.channel.bind('client-move', (data: unknown, metadata: unknown) =>
      moves.put([data, metadata]),
    );

    seenByAnn.channel.trigger('client-move', { to: 'e4' });

    expect(await moves.next()).toEqual([{ to: 'e4' }, { user_id: 'ann' }]);
  });

  it('are refused in a public channel', async () => {
    using ann = connectAs('ann');
    const received = ann.subscribe('public-game');
    await received.subscribed();
    received.channel.trigger('client-move', { to: 'e4' });

    const [, error] = await ann.connection.first(([event]) => event === 'error');
    expect(error).toMatchObject({
      type: 'PusherError',
      data: {
        code: null,
        message: 'Client event rejected - only supported on private and presence channels',
      },
    });
  });

  it('are refused if the app does not allow them', async () => {
    using ann = connect(server, { key: 'no-client-events' });
    const received = ann.subscribe('news');
    await received.subscribed();
    received.channel.trigger('client-move', { to: 'e4' });

    const [, error] = await ann.connection.first(([event]) => event === 'error');
    expect(error).toMatchObject({
      data: { message: expect.stringContaining('you must enable this feature') },
    });
  });

  it('are refused with 4301 when there are more than 10 at once, and the connection stays', async () => {
    using ann = connectAs('ann');
    using bob = connectAs('bob');
    const seenByAnn = ann.subscribe('private-flood');
    const seenByBob = bob.subscribe('private-flood');
    await Promise.all([seenByAnn.subscribed(), seenByBob.subscribed()]);

    for (let number = 1; number <= 20; number++) {
      seenByAnn.channel.trigger('client-drop', { number });
    }

    const [, error] = await ann.connection.first(([event]) => event === 'error');
    expect(error).toMatchObject({
      data: { code: 4301, message: 'Client event rejected due to rate limit' },
    });
    for (let number = 1; number <= 10; number++) {
      expect(await seenByBob.next()).toEqual(['client-drop', { number }]);
    }
    expect(ann.pusher.connection.state).toBe('connected');
  });
});

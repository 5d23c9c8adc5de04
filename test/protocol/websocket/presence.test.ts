import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import type { ReceivedEvent } from '../../../testing/clients/raw-client.ts';
import { api, channelAuth, trigger } from '../../../testing/clients/sign.ts';
import { APP, type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { newApp } from '../../../testing/servers/test-app.ts';
import {
  type Client,
  channelData,
  connect,
  error,
  fresh,
  hearsRefusal,
  join,
  LIMIT_REACHED,
  leave,
  member,
  PROTOCOLS,
  subscribe,
  unsubscribe,
} from './conversation.ts';

/** Source: Channels protocol, §6. */

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare();
});
afterAll(() => server[Symbol.asyncDispose]());

function added(channel: string, data: string): ReceivedEvent {
  return { event: 'pusher_internal:member_added', channel, data };
}

function removed(channel: string, userId: string): ReceivedEvent {
  return {
    event: 'pusher_internal:member_removed',
    channel,
    data: JSON.stringify({ user_id: userId }),
  };
}

/** The snapshot that a confirmation holds. */
function snapshot(confirmation: ReceivedEvent): unknown {
  expect(confirmation.data).toBeString();
  return JSON.parse(String(confirmation.data));
}

function present(hash: Readonly<Record<string, unknown>>): object {
  const ids = Object.keys(hash);
  return { presence: { count: ids.length, ids: expect.arrayContaining(ids), hash } };
}

async function usersOf(channel: string): Promise<unknown> {
  return await (await api(server, 'GET', `/apps/${APP.id}/channels/${channel}/users`)).json();
}

async function refused(client: Client, channel: string, data: string): Promise<void> {
  subscribe(client, channel, data);
  await hearsRefusal(client, channel, expect.stringMatching(/^Invalid channel_data: /));
}

describe.each(PROTOCOLS)('in a presence channel, a client of protocol %i', (protocol) => {
  it('gets all members, itself included', async () => {
    const channel = fresh('presence-');
    await using first = await connect(server, protocol);
    await using second = await connect(server, protocol);
    await using third = await connect(server, protocol);

    const received = [
      await join(first, channel, channelData('1', { name: 'A' })),
      await join(second, channel, channelData('2')),
      await join(third, channel, channelData('3', { name: { first: 'é', tags: [] } })),
    ];

    expect(received[0]).toEqual({
      event: 'pusher_internal:subscription_succeeded',
      channel,
      data: '{"presence":{"count":1,"ids":["1"],"hash":{"1":{"name":"A"}}}}',
    });
    expect(received.map(snapshot)).toEqual([
      present({ '1': { name: 'A' } }),
      present({ '1': { name: 'A' }, '2': null }),
      present({ '1': { name: 'A' }, '2': null, '3': { name: { first: 'é', tags: [] } } }),
    ]);
  });

  it('gets an event for each member that joins or leaves, but not for itself', async () => {
    const channel = fresh('presence-');
    await using watcher = await member(server, channel, channelData('watcher'), protocol);
    await using client = await connect(server, protocol);

    await join(client, channel, channelData('1', { name: 'A' }));
    expect(await watcher.receive()).toEqual(
      added(channel, '{"user_id":"1","user_info":{"name":"A"}}'),
    );
    await client.receiveNothing();
    unsubscribe(client, channel);
    expect(await watcher.receive()).toEqual(removed(channel, '1'));
    await client.receiveNothing();

    await join(client, channel, channelData('2'));
    expect(await watcher.receive()).toEqual(added(channel, '{"user_id":"2"}'));
    await leave(client);
    expect(await watcher.receive()).toEqual(removed(channel, '2'));
    await watcher.receiveNothing();
  });

  it('gets an event for a member whose connection breaks', async () => {
    const channel = fresh('presence-');
    await using watcher = await member(server, channel, channelData('watcher'), protocol);
    const client = await member(server, channel, channelData('1'), protocol);
    expect(await watcher.receive()).toEqual(added(channel, '{"user_id":"1"}'));

    await client[Symbol.asyncDispose]();

    expect(await watcher.receive()).toEqual(removed(channel, '1'));
  });

  it('is one user with all its connections: added with the first, removed with the last', async () => {
    const channel = fresh('presence-');
    await using watcher = await member(server, channel, channelData('watcher'), protocol);
    await using one = await member(server, channel, channelData('1', { n: 1 }), protocol);
    expect(await watcher.receive()).toEqual(added(channel, '{"user_id":"1","user_info":{"n":1}}'));

    await using two = await connect(server, protocol);
    const confirmation = await join(two, channel, channelData('1', { n: 2 }));
    await using three = await connect(server, protocol);
    await join(three, channel, channelData('1', { n: 3 }));
    // The user_info of the first connection stays.
    expect(snapshot(confirmation)).toEqual(present({ watcher: null, '1': { n: 1 } }));
    await one.receiveNothing();

    unsubscribe(one, channel);
    await leave(two);
    await watcher.receiveNothing();
    await using newcomer = await connect(server, protocol);
    expect(snapshot(await join(newcomer, channel, channelData('new')))).toEqual(
      present({ watcher: null, '1': { n: 1 }, new: null }),
    );
    expect(await watcher.receive()).toEqual(added(channel, '{"user_id":"new"}'));

    await leave(three);
    expect(await watcher.receive()).toEqual(removed(channel, '1'));

    // After its last connection has left, the user may come back with other user_info.
    await using four = await connect(server, protocol);
    const again = await join(four, channel, channelData('1', { n: 4 }));
    expect(snapshot(again)).toEqual(present({ watcher: null, '1': { n: 4 }, new: null }));
    expect(await watcher.receive()).toEqual(added(channel, '{"user_id":"1","user_info":{"n":4}}'));
    await watcher.receiveNothing();
  });

  it.each([
    ['10', '10'],
    ['0', '0'],
    ['-7', '-7'],
    ['9007199254740993', '9007199254740993'],
    ['12345678901234567890123', '12345678901234567890123'],
    ['"10"', '10'],
    ['" "', ' '],
    ['"a:b/c \\u00e9\\ud83d\\ude00\\""', 'a:b/c é😀"'],
    ['"__proto__"', '__proto__'],
    ['"constructor"', 'constructor'],
  ])('may have the user_id %s', async (literal, userId) => {
    const channel = fresh('presence-');
    await using watcher = await member(server, channel, channelData('watcher'), protocol);
    await using client = await connect(server, protocol);

    const { data } = await join(client, channel, `{"user_id": ${literal} }`);

    expect(String(data)).toContain(`,"hash":{"watcher":null,${JSON.stringify(userId)}:null}`);
    expect(String(data)).toContain(`"count":2,"ids":["watcher",${JSON.stringify(userId)}]`);
    expect(await watcher.receive()).toEqual(added(channel, JSON.stringify({ user_id: userId })));
    expect(await usersOf(channel)).toEqual({ users: [{ id: 'watcher' }, { id: userId }] });
    await leave(client);
    expect(await watcher.receive()).toEqual(removed(channel, userId));
  });

  it('is the same user with a number and with a string of the same digits', async () => {
    const channel = fresh('presence-');
    await using watcher = await member(server, channel, channelData(10), protocol);
    await using client = await connect(server, protocol);

    const confirmation = await join(client, channel, channelData('10'));

    expect(snapshot(confirmation)).toEqual(present({ '10': null }));
    await watcher.receiveNothing();
  });

  it.each([
    ['{}', '{"user_id":"1","user_info":{}}'],
    ['{"n":12345678901234567890,"f":1.0}', null],
    ['{ "name" : "\\u00e9😀\\"" }', null],
    ['{"__proto__":{"a":[[]]},"d":1,"d":2}', null],
  ])('is described by its user_info as its backend signed it: %s', async (info, whole) => {
    const channel = fresh('presence-');
    await using watcher = await member(server, channel, channelData('watcher'), protocol);
    await using client = await connect(server, protocol);

    const { data } = await join(client, channel, `{"user_info":${info},"user_id":"1"}`);

    expect(String(data)).toBe(
      `{"presence":{"count":2,"ids":["watcher","1"],"hash":{"watcher":null,"1":${info}}}}`,
    );
    const received = whole ?? `{"user_id":"1","user_info":${info}}`;
    expect(await watcher.receive()).toEqual(added(channel, received));
  });

  it.each(['{"user_id":"1","user_info":null}', '{"user_id":"1"}', '{"user_id":"1","x":{}}'])(
    'may have no user_info: %s',
    async (data) => {
      const channel = fresh('presence-');
      await using client = await connect(server, protocol);

      expect(snapshot(await join(client, channel, data))).toEqual(present({ '1': null }));
    },
  );

  it.each(['"name"', '7', 'true', 'false', '[]', '[{"a":1}]', '""', '0'])(
    'is refused with a user_info that is not an object: %s',
    async (info) => {
      const channel = fresh('presence-');
      await using client = await connect(server, protocol);

      subscribe(client, channel, `{"user_id":"1","user_info":${info}}`);

      await hearsRefusal(
        client,
        channel,
        'user_info supplied to presence subscription is invalid - if supplied it must be a type of hash',
      );
      await client.receiveNothing();
      expect(await usersOf(channel)).toEqual({ users: [] });
    },
  );

  it.each([
    'not JSON',
    'null',
    '[]',
    '"1"',
    '7',
    '{}',
    '{"user_info":{}}',
    '{"user_id":null}',
    '{"user_id":""}',
    '{"user_id":true}',
    '{"user_id":{}}',
    '{"user_id":["1"]}',
  ])('is refused without a valid user_id: %s', async (data) => {
    const channel = fresh('presence-');
    await using client = await connect(server, protocol);

    await refused(client, channel, data);

    await client.receiveNothing();
    expect(await usersOf(channel)).toEqual({ users: [] });
  });

  it('is refused without channel_data, since it is not signed in either', async () => {
    const channel = fresh('presence-');
    await using client = await connect(server, protocol);

    client.send({
      event: 'pusher:subscribe',
      data: { channel, ...channelAuth(client.socketId, channel) },
    });

    await hearsRefusal(client, channel, expect.stringMatching(/^Invalid channel_data/));
    await client.receiveNothing();
  });

  it('may have a user_id of 128 characters, and not of 129', async () => {
    const channel = fresh('presence-');
    await using client = await connect(server, protocol);

    subscribe(client, channel, channelData('é'.repeat(129)));
    await hearsRefusal(client, channel, expect.stringContaining('128'), LIMIT_REACHED);
    subscribe(client, channel, `{"user_id":${'1'.repeat(129)}}`);
    await hearsRefusal(client, channel, expect.stringContaining('128'), LIMIT_REACHED);

    await join(client, channel, channelData('é'.repeat(128)));
  });

  it('may have a user_info of 1024 bytes, and not of 1025', async () => {
    const channel = fresh('presence-');
    await using client = await connect(server, protocol);
    // {"n":""} has 8 bytes, and each é has two.
    const largest = { n: 'é'.repeat(508) };

    subscribe(client, channel, channelData('1', { n: `${largest.n}x` }));
    await hearsRefusal(client, channel, expect.stringContaining('1024'), LIMIT_REACHED);

    expect(snapshot(await join(client, channel, channelData('1', largest)))).toEqual(
      present({ '1': largest }),
    );
  });

  it('gets the events of the channel after its confirmation, and none before', async () => {
    const channel = fresh('presence-');
    await using client = await connect(server, protocol);

    await trigger(server, { name: 'early', channel, data: '' });
    await join(client, channel, channelData('1'));
    await trigger(server, { name: 'e', channel, data: '' });

    expect(await client.receive()).toEqual({ event: 'e', channel, data: '' });
  });

  it('is a different user in every channel', async () => {
    const [one, two] = [fresh('presence-'), fresh('presence-')];
    await using client = await connect(server, protocol);

    await join(client, one, channelData('1'));
    const confirmation = await join(client, two, channelData('2'));
    unsubscribe(client, one);

    expect(snapshot(confirmation)).toEqual(present({ '2': null }));
    await client.receiveNothing();
    expect(await usersOf(one)).toEqual({ users: [] });
    expect(await usersOf(two)).toEqual({ users: [{ id: '2' }] });
  });

  it('is refused when the channel has 100 members, unless it is one of them', async () => {
    const channel = fresh('presence-');
    const all: Client[] = [];
    for (let id = 1; id <= 100; id++) {
      const client = await connect(server, protocol);
      all.push(client);
      subscribe(client, channel, channelData(id));
      await client.receive();
    }
    await using late = await connect(server, protocol);

    subscribe(late, channel, channelData('101'));
    await hearsRefusal(late, channel, expect.stringContaining('100'), LIMIT_REACHED);
    unsubscribe(late, channel);
    expect(await late.receive()).toEqual(
      error(`No current subscription to channel ${channel}, or subscription in progress`),
    );

    // User 7 is a member already, and needs no further place.
    const confirmation = await join(late, channel, channelData(7));
    expect(snapshot(confirmation)).toMatchObject({ presence: { count: 100 } });
    const [first] = all;
    if (first === undefined) throw new Error('Nobody came');
    await leave(first);
    expect(await late.receive()).toEqual(removed(channel, '1'));
    // Any user may take a free place.
    await using lucky = await member(server, channel, channelData('101'), protocol);
    expect(await late.receive()).toEqual(added(channel, '{"user_id":"101"}'));
    await Promise.all(all.map((client) => client[Symbol.asyncDispose]()));
    await lucky[Symbol.asyncDispose]();
  });
});

describe('a presence channel', () => {
  it('is separate from the channel of another app with the same name', async () => {
    const channel = fresh('presence-');
    await using client = await member(server, channel, channelData('1'));
    await using other = await connect(await newApp(server));
    subscribe(other, channel, channelData('2'));

    expect(snapshot(await other.receive())).toEqual(present({ '2': null }));
    await client.receiveNothing();
    await trigger(server, { name: 'e', channel, data: '' });
    expect(await client.receive()).toEqual({ event: 'e', channel, data: '' });
    await other.receiveNothing();
  });
});

describe('a member who joins and leaves several times within moments', () => {
  it('is added and removed in turns for every other member, and for one who came in between', async () => {
    const app = await newApp(server, { limits: { memberChangesPerSecond: 2 } });
    const channel = fresh('presence-');
    await using watcher = await member(app, channel, channelData('watcher'));
    await using late = await connect(app);
    const toggles = async (userId: string, times: number) => {
      const client = await connect(app);
      const signed = app.auth(client, channel, channelData(userId));
      const toggle = [
        { event: 'pusher:subscribe', data: { channel, ...signed } },
        { event: 'pusher:unsubscribe', data: { channel } },
      ];
      client.sendTogether(Array(times).fill(toggle).flat());
      return client;
    };
    await using restless = await toggles('restless', 8);
    subscribe(late, channel, channelData('late'));
    restless.send({ event: 'pusher:ping', data: {} });
    while ((await restless.receive()).event !== 'pusher:pong');
    const confirmation = await late.receive();
    const known: readonly string[] = JSON.parse(String(confirmation.data)).presence.ids;

    // Its second departure is told a second later, after everything about the other user.
    await using _ = await toggles('second', 2);
    for (const [client, members] of [
      [watcher, new Set<string>()],
      [late, new Set(known)],
    ] as const) {
      for (let departures = 0; departures < 2; ) {
        const { event, data } = await client.receive();
        const { user_id: userId } = JSON.parse(String(data));
        const isIn = event === 'pusher_internal:member_added';
        expect([userId, members.has(userId)]).toEqual([userId, !isIn]);
        if (isIn) members.add(userId);
        else members.delete(userId);
        if (userId === 'second' && !isIn) departures++;
      }
      expect(members.has('restless')).toBe(false);
    }
  });
});

describe('an app', () => {
  it('may have its own limit of members, or none', async () => {
    const few = await newApp(server, { limits: { presenceMembers: 1 } });
    const channel = fresh('presence-');
    await using _ = await member(few, channel, channelData('1'));
    await using late = await connect(few);
    subscribe(late, channel, channelData('2'));
    await hearsRefusal(late, channel, expect.stringContaining('1'), LIMIT_REACHED);

    const many = await newApp(server, { limits: { presenceMembers: 0 } });
    await using client = await connect(many);
    const crowd: Client[] = [];
    for (let id = 0; id < 120; id++) {
      const one = await connect(many);
      crowd.push(one);
      subscribe(one, channel, channelData(id));
      await one.receive();
    }
    expect(snapshot(await join(client, channel, channelData('x')))).toMatchObject({
      presence: { count: 121 },
    });
    await Promise.all(crowd.map((one) => one[Symbol.asyncDispose]()));
  });
});

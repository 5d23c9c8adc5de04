import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import Echo from 'laravel-echo';
import PusherJs, { type Members, type Options, type PresenceChannel } from 'pusher-js';
import { optionsFor } from '../../testing/clients/official-client.ts';
import { Inbox } from '../../testing/inbox.ts';
import { type AppBackend, startAppBackend } from '../../testing/servers/app-backend.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';

/** What pusher-js and Laravel Echo, unchanged from npm, make of a large presence channel, on two threads. */

const ROOM = 'presence-stadium';

let server: Fanfare;
let backend: AppBackend;
beforeAll(async () => {
  server = await startFanfare({
    threads: 2,
    app: { presence: [{ channels: ROOM, shown: 2, named: 5 }] },
  });
  backend = startAppBackend(server);
});
afterAll(async () => {
  backend[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
});

type Heard = readonly [event: string, data: unknown];

/** A page with pusher-js that has entered the room. */
async function open(user: string) {
  const { library } = backend;
  const pusher = new PusherJs(
    APP.key,
    optionsFor(server, {
      channelAuthorization: {
        endpoint: 'unused',
        transport: 'ajax',
        customHandler: ({ socketId }, done) =>
          done(null, library.authorizeChannel(socketId, ROOM, { user_id: user })),
      },
    }),
  );
  const heard = new Inbox<Heard>(`pusher-js of ${user}`);
  const entered = Promise.withResolvers<Members>();
  const channel = pusher.subscribe(ROOM) as PresenceChannel;
  channel.bind('pusher:subscription_succeeded', (members: Members) => entered.resolve(members));
  for (const event of [
    'pusher:member_added',
    'pusher:member_removed',
    'pusher:subscription_count',
    'fanfare:members',
    'last',
  ]) {
    channel.bind(event, (data: unknown) => heard.put([event, data]));
  }
  const members = await entered.promise;
  return { pusher, channel, heard, members };
}

const idsOf = (members: Members): readonly string[] => {
  const ids: string[] = [];
  members.each(({ id }: { id: string }) => ids.push(id));
  return ids.toSorted();
};

describe('a large presence channel', () => {
  it('has the number of all members, the first ones and itself for pusher-js, and counts and names instead of changes', async () => {
    const ann = await open('ann');
    const bob = await open('bob');
    const cid = await open('cid');
    const { members } = cid;
    expect([members.count, members.me.id, idsOf(members)]).toEqual([
      3,
      'cid',
      ['ann', 'bob', 'cid'],
    ]);
    const dan = await open('dan');
    expect(idsOf(dan.members)).toEqual(['ann', 'bob', 'dan']);
    expect(dan.members.count).toBe(4);

    const isCount = (users: number) => (heard: Heard) =>
      heard[0] === 'pusher:subscription_count' && Object(heard[1]).user_count === users;
    expect(await ann.heard.first(isCount(4))).toEqual([
      'pusher:subscription_count',
      { subscription_count: 4, user_count: 4 },
    ]);

    const later: Heard[] = [];
    const hearUntilNamed = async (kind: 'joined' | 'left', ids: readonly string[]) => {
      const named = new Set<string>();
      while (!ids.every((id) => named.has(id))) {
        const heard = await cid.heard.next();
        later.push(heard);
        for (const one of Object(heard[1])[kind] ?? [])
          named.add(kind === 'left' ? one : one.user_id);
      }
    };
    await hearUntilNamed('joined', ['ann', 'bob', 'cid', 'dan']);
    bob.pusher.disconnect();
    dan.pusher.disconnect();
    await hearUntilNamed('left', ['bob', 'dan']);
    await backend.library.trigger(ROOM, 'last', '');
    later.push(await cid.heard.first(([event]) => event === 'last'));
    expect(new Set(later.map(([event]) => event))).toEqual(
      new Set(['pusher:subscription_count', 'fanfare:members', 'last']),
    );
    // pusher-js keeps what was so at its subscription.
    expect([cid.channel.members.count, cid.channel.members.me.id]).toEqual([3, 'cid']);
    for (const { pusher } of [ann, cid]) pusher.disconnect();
  });

  it('tells Echo who is there at first, and who has joined since', async () => {
    const options = {
      broadcaster: 'pusher' as const,
      key: APP.key,
      Pusher: PusherJs,
      cluster: 'local',
      wsHost: '127.0.0.1',
      wsPort: server.port,
      forceTLS: false,
      enabledTransports: ['ws', 'wss'] satisfies Options['enabledTransports'],
      authEndpoint: backend.authEndpoint,
      auth: { headers: { 'x-user': 'echo' } },
      withoutInterceptors: true,
    };
    const echo = new Echo(options);
    const here = new Inbox<readonly unknown[]>('here');
    const batches = new Inbox<{ readonly joined: readonly { readonly user_id: string }[] }>(
      'batches',
    );
    echo
      .join('stadium')
      .here((users: readonly unknown[]) => here.put(users))
      .listen('.fanfare:members', (batch: { joined: readonly { user_id: string }[] }) =>
        batches.put(batch),
      );
    expect(await here.next()).toHaveLength(1);
    const eve = await open('eve');
    await batches.first(({ joined }) => joined.some(({ user_id }) => user_id === 'eve'));
    eve.pusher.disconnect();
    echo.disconnect();
  });
});

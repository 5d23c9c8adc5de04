import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import PusherServer from 'pusher';
import PusherJs from 'pusher-js';
import { optionsFor } from '../../testing/clients/official-client.ts';
import { Inbox } from '../../testing/inbox.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';

/** Reloads of pages with pusher-js, unchanged from npm, on two threads: clients have no part in grace. */

const PAGES = 10;
const RELOADS = 5;
const ROOM = 'presence-room';

let server: Fanfare;
let library: PusherServer;

beforeAll(async () => {
  server = await startFanfare({
    threads: 2,
    app: { presence: [{ channels: ROOM, graceSeconds: 2 }] },
  });
  const host = { host: '127.0.0.1', port: String(server.port), useTLS: false };
  library = new PusherServer({ appId: APP.id, key: APP.key, secret: APP.secret, ...host });
});
afterAll(() => server[Symbol.asyncDispose]());

/** A page that has signed in and entered the room. */
async function open(user: string) {
  const options = optionsFor(server, {
    userAuthentication: {
      endpoint: 'unused',
      transport: 'ajax',
      customHandler: ({ socketId }, done) => {
        const { auth, user_data } = library.authenticateUser(socketId, { id: user });
        done(null, { auth, user_data: String(user_data) });
      },
    },
    channelAuthorization: {
      endpoint: 'unused',
      transport: 'ajax',
      customHandler: ({ socketId }, done) =>
        done(null, library.authorizeChannel(socketId, ROOM, { user_id: user })),
    },
  });
  const pusher = new PusherJs(APP.key, options);
  const signedIn = Promise.withResolvers<void>();
  pusher.connection.bind('message', ({ event }: { event: string }) => {
    if (event === 'pusher:signin_success') signedIn.resolve();
  });
  pusher.signin();
  const heard = new Inbox<string>('What the room has heard');
  const entered = Promise.withResolvers<void>();
  const channel = pusher.subscribe(ROOM);
  channel.bind('pusher:subscription_succeeded', () => entered.resolve());
  channel.bind('pusher:member_added', ({ id }: { id: string }) => heard.put(`+${id}`));
  channel.bind('pusher:member_removed', ({ id }: { id: string }) => heard.put(`-${id}`));
  channel.bind('last', () => heard.put('last'));
  await Promise.all([signedIn.promise, entered.promise]);
  return { pusher, heard };
}

describe('a member of a channel with grace', () => {
  it('is never gone for others while its page is reloaded, and is if it is not opened again', async () => {
    const watcher = await open('watcher');
    const pages = await Promise.all(Array.from({ length: PAGES }, (_, n) => open(`user-${n}`)));
    const arrived = await Promise.all(pages.map(() => watcher.heard.next()));
    expect(arrived.toSorted()).toEqual(pages.map((_, n) => `+user-${n}`).toSorted());

    for (let round = 0; round < RELOADS; round++) {
      for (const { pusher } of pages) pusher.disconnect();
      const reloaded = await Promise.all(pages.map((_, n) => open(`user-${n}`)));
      pages.splice(0, pages.length, ...reloaded);
    }
    await library.trigger(ROOM, 'last', '');
    expect(await watcher.heard.next()).toBe('last');

    pages[0]?.pusher.disconnect();
    expect(await watcher.heard.next()).toBe('-user-0');

    // On purpose, and ended by the backend: at once, and in this order.
    pages[1]?.pusher.unsubscribe(ROOM);
    expect(await watcher.heard.next()).toBe('-user-1');
    await library.terminateUserConnections('user-2');
    await library.trigger(ROOM, 'last', '');
    expect([await watcher.heard.next(), await watcher.heard.next()].toSorted()).toEqual([
      '-user-2',
      'last',
    ]);
    for (const { pusher } of [watcher, ...pages]) pusher.disconnect();
  });
});

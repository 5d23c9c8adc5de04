import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { createHmac } from 'node:crypto';
import Echo from 'laravel-echo';
import PusherServer from 'pusher';
import PusherJs, { type Options } from 'pusher-js';
import { optionsFor } from '../../testing/clients/official-client.ts';
import { Inbox } from '../../testing/inbox.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';

/** Grants and tokens with the official libraries, unchanged from npm. Source: identity, §1. */

const CHANNELS = Array.from({ length: 40 }, (_, n) => `private-team-${n}`);
/** The library makes JSON of it, though its types ask for text. */
const REVOKE_ANN = { user_id: 'ann' } as unknown as string;
const GRANTED = { 'private-team-*': ['subscribe'], 'presence-team': ['subscribe'] };

let server: Fanfare;
let library: PusherServer;

beforeAll(async () => {
  server = await startFanfare({ app: { grants: { leewaySeconds: 0 } } });
  library = new PusherServer({
    appId: APP.id,
    key: APP.key,
    secret: APP.secret,
    host: '127.0.0.1',
    port: String(server.port),
    useTLS: false,
  });
});
afterAll(() => server[Symbol.asyncDispose]());

const now = () => Math.floor(Date.now() / 1000);

function token(seconds: number): string {
  const parts = [
    { alg: 'HS256', typ: 'JWT', kid: APP.key },
    {
      ...{ sub: 'ann', user_info: { name: 'Ann' }, channels: GRANTED },
      ...{ iat: now(), exp: now() + seconds },
    },
  ];
  const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
  const signed = text.join('.');
  return `${signed}.${createHmac('sha256', APP.secret).update(signed).digest('base64url')}`;
}

/** How a page signs in, and how often its backend was asked. */
interface Way {
  readonly name: string;
  readonly signIn: (socketId: string, seconds: number) => { auth: string; user_data: string };
}

const ways: readonly Way[] = [
  {
    name: 'a sign-in with grants',
    signIn: (socketId, seconds) => {
      const user = {
        id: 'ann',
        user_info: { name: 'Ann' },
        grants: { channels: GRANTED, exp: now() + seconds },
      };
      const { auth, user_data } = library.authenticateUser(socketId, user);
      return { auth, user_data: String(user_data) };
    },
  },
  {
    name: 'a token',
    signIn: (_, seconds) => ({ auth: token(seconds), user_data: '' }),
  },
];

/** A client whose backend is asked for a sign-in only. */
function clientOf({ signIn }: Way, seconds = 60) {
  let asked = 0;
  const options: Options = optionsFor(server, {
    userAuthentication: {
      endpoint: 'unused',
      transport: 'ajax',
      customHandler: ({ socketId }, done) => {
        asked++;
        // As an answer of a backend, which comes after the subscriptions were sent.
        setTimeout(() => done(null, signIn(socketId, seconds)), 1);
      },
    },
    channelAuthorization: {
      endpoint: 'unused',
      transport: 'ajax',
      customHandler: (_, done) => done(null, { auth: '' }),
    },
  });
  return { options, asked: () => asked };
}

/** The channels that a client has entered, in their order. */
function entries(pusher: PusherJs): Inbox<string> {
  const entered = new Inbox<string>('Channels that were entered');
  pusher.connection.bind(
    'message',
    ({ event, channel = '' }: { event: string; channel?: string }) => {
      const isEntry = event === 'pusher_internal:subscription_succeeded';
      if (isEntry && !channel.startsWith('#')) entered.put(channel);
    },
  );
  return entered;
}

async function all(entered: Inbox<string>): Promise<readonly string[]> {
  const channels: string[] = [];
  while (channels.length <= CHANNELS.length) channels.push(await entered.next());
  return channels;
}

describe.each(ways)('$name', (way) => {
  it('lets pusher-js into 40 channels and a presence channel, and asks the backend once', async () => {
    const { options, asked } = clientOf(way);
    const pusher = new PusherJs(APP.key, options);
    const entered = entries(pusher);
    pusher.signin();
    for (const channel of [...CHANNELS, 'presence-team']) pusher.subscribe(channel);
    expect(await all(entered)).toEqual([...CHANNELS, 'presence-team']);
    expect(asked()).toBe(1);
    const { members } = pusher.channel('presence-team') as unknown as { members: object };
    expect(members).toMatchObject({ count: 1, me: { id: 'ann', info: { name: 'Ann' } } });
    pusher.disconnect();
  });

  it('lets in what pusher-js subscribes to after it, too', async () => {
    const { options, asked } = clientOf(way);
    const pusher = new PusherJs(APP.key, options);
    const entered = entries(pusher);
    pusher.signin();
    await pusher.user.signinDonePromise;
    for (const channel of [...CHANNELS, 'presence-team']) pusher.subscribe(channel);
    expect(await all(entered)).toEqual([...CHANNELS, 'presence-team']);
    expect(asked()).toBe(1);
    pusher.disconnect();
  });

  it('is asked for again by pusher-js when it ends, and everything goes on', async () => {
    const { options, asked } = clientOf(way, 2);
    const pusher = new PusherJs(APP.key, options);
    const entered = entries(pusher);
    const errors = new Inbox<unknown>('Errors of the connection');
    pusher.connection.bind('error', (error: unknown) => errors.put(error));
    pusher.signin();
    for (const channel of [...CHANNELS, 'presence-team']) pusher.subscribe(channel);
    await all(entered);
    expect(await errors.next()).toMatchObject({
      data: { code: 4200, message: 'Grant expired, please reconnect' },
    });
    expect(new Set(await all(entered))).toEqual(new Set([...CHANNELS, 'presence-team']));
    expect(asked()).toBe(2);
    pusher.disconnect();
  });

  it('is asked for again by pusher-js, once, when it is revoked, and everything goes on', async () => {
    const { options, asked } = clientOf(way);
    const pusher = new PusherJs(APP.key, options);
    const entered = entries(pusher);
    const errors = new Inbox<unknown>('Errors of the connection');
    pusher.connection.bind('error', (error: unknown) => errors.put(error));
    pusher.signin();
    for (const channel of [...CHANNELS, 'presence-team']) pusher.subscribe(channel);
    await all(entered);
    const path = '/revocations';
    const { status } = await library.post({ path, body: REVOKE_ANN });
    expect(status).toBe(200);
    expect(await errors.next()).toMatchObject({
      data: { code: 4200, message: 'Grant revoked, please reconnect' },
    });
    expect(new Set(await all(entered))).toEqual(new Set([...CHANNELS, 'presence-team']));
    // The connection stays: what is triggered arrives on it.
    const heard = new Inbox<unknown>('Events');
    pusher.channel('private-team-7').bind('note', (data: unknown) => heard.put(data));
    await library.trigger('private-team-7', 'note', { a: 1 });
    expect(await heard.next()).toEqual({ a: 1 });
    expect(asked()).toBe(2);
    pusher.disconnect();
  });

  it('comes back no more, and pusher-js makes no loop, when a backend goes on giving what is revoked', async () => {
    const held = way.signIn('1.1', 60);
    if (held.user_data !== '') return;
    const { options, asked } = clientOf({ ...way, signIn: () => held });
    const pusher = new PusherJs(APP.key, options);
    const refused = new Inbox<string>('Refused subscriptions');
    pusher.signin();
    const channel = pusher.subscribe('private-team-7');
    const { promise, resolve } = Promise.withResolvers<void>();
    channel.bind('pusher:subscription_succeeded', () => resolve());
    await promise;
    channel.bind('pusher:subscription_error', () => refused.put(channel.name));
    expect((await library.post({ path: '/revocations', body: REVOKE_ANN })).status).toBe(200);
    expect(await refused.next()).toBe('private-team-7');
    expect([asked(), pusher.connection.state]).toEqual([2, 'connected']);
    pusher.disconnect();
  });

  it('lets Laravel Echo join and listen', async () => {
    const { options, asked } = clientOf(way);
    const pusher = new PusherJs(APP.key, options);
    const echo = new Echo({ broadcaster: 'pusher', client: pusher, key: APP.key });
    const heard = new Inbox<unknown>('What Echo heard');
    pusher.signin();
    echo.join('team').here((users: unknown) => heard.put(users));
    expect(await heard.next()).toEqual([{ name: 'Ann' }]);
    echo.private('team-7').listen('.note', (data: unknown) => heard.put(data));
    await eventuallyIn(pusher, 'private-team-7');
    await library.trigger('private-team-7', 'note', { a: 1 });
    expect(await heard.next()).toEqual({ a: 1 });
    expect(asked()).toBe(1);
    echo.disconnect();
  });
});

function eventuallyIn(pusher: PusherJs, channel: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (pusher.channel(channel).subscribed) resolve();
  else pusher.channel(channel).bind('pusher:subscription_succeeded', () => resolve());
  return promise;
}

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'bun:test';
import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import Echo from 'laravel-echo';
import PusherServer from 'pusher';
import PusherJs from 'pusher-js';
import { type AuthorizeOptions, authorize } from '../../sdk/authorize/index.js';
import { optionsFor } from '../../testing/clients/official-client.ts';
import { codeIn } from '../../testing/doc-code.ts';
import { Inbox } from '../../testing/inbox.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';

/** `fanfare/authorize` with the official libraries, and the endpoint for Node of docs/use/authorization.md. Source: identity, §3.8. */

const PAGE = join(import.meta.dir, '../../docs/use/authorization.md');
const CHANNELS = Array.from({ length: 40 }, (_, n) => `private-team-${n}`);
const GRANTED = { 'private-team-*': ['subscribe'], 'presence-team': ['subscribe'] };

interface Call {
  readonly path: string;
  readonly channels: readonly string[];
  readonly headers: Headers;
  readonly fields: Readonly<Record<string, unknown>>;
}

type Handler = (
  request: { readonly body: object; readonly user: { readonly id: string } },
  response: { json(value: unknown): void },
) => void;

let server: Fanfare;
let library: PusherServer;
let backend: Bun.Server<undefined>;
let calls: Call[] = [];
let answersWith: ((path: string) => Response | undefined) | undefined;
const opened: PusherJs[] = [];

beforeAll(async () => {
  server = await startFanfare({ app: { grants: { leewaySeconds: 0 } } });
  library = new PusherServer({
    appId: APP.id,
    key: APP.key,
    secret: APP.secret,
    host: '127.0.0.1',
    port: String(server.port),
    useTLS: false,
    encryptionMasterKeyBase64: Buffer.alloc(32, 7).toString('base64'),
  });
  backend = await startBackend();
});
afterAll(async () => {
  await backend.stop(true);
  await server[Symbol.asyncDispose]();
});
beforeEach(() => {
  calls = [];
  answersWith = undefined;
});
afterEach(() => {
  for (const pusher of opened.splice(0)) pusher.disconnect();
});

/** Runs the endpoint of the page as Express would, and a sign-in beside it. */
async function startBackend(): Promise<Bun.Server<undefined>> {
  const code = await codeIn(PAGE, 'js', 'express.urlencoded');
  const routes = new Map<string, Handler>();
  const app = { post: (path: string, _: unknown, handler: Handler) => routes.set(path, handler) };
  const mayJoin = (_: unknown, channel: string) => !channel.includes('secret');
  new Function('app', 'express', 'pusher', 'mayJoin', code)(
    app,
    { urlencoded: () => undefined },
    library,
    mayJoin,
  );
  return Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const path = new URL(request.url).pathname;
      const { headers } = request;
      const fields = nested(new URLSearchParams(await request.text()));
      const channels = Object.values((fields['channel_name'] ?? {}) as Record<string, string>);
      calls.push({ path, channels, headers, fields });
      const answer = answersWith?.(path);
      if (answer !== undefined) return answer;
      if (path === '/user-auth') {
        const grants = { channels: GRANTED };
        const user = { id: 'ann', user_info: { name: 'Ann' }, grants };
        return Response.json(library.authenticateUser(String(fields['socket_id']), user));
      }
      const handler = routes.get(path);
      const { promise, resolve } = Promise.withResolvers<unknown>();
      handler?.({ body: fields, user: { id: 'ann' } }, { json: resolve });
      return handler === undefined
        ? new Response('', { status: 404 })
        : Response.json(await promise);
    },
  });
}

/** A form as `qs` reads it: of more than twenty, an object. */
function nested(form: URLSearchParams): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const [name, value] of form) {
    const [, list, place] = /^(\w+)\[(\d+)\]$/.exec(name) ?? [];
    if (list === undefined || place === undefined) fields[name] = value;
    else fields[list] = { ...(fields[list] as object), [place]: value };
  }
  return fields;
}

const url = (path: string) => `http://127.0.0.1:${backend.port}${path}`;
const paths = () => calls.map(({ path }) => path);

function connect(options: Partial<AuthorizeOptions> = {}): PusherJs {
  const authorization = authorize({ endpoint: url('/pusher/auth-batch'), ...options });
  const pusher = new PusherJs(APP.key, { ...optionsFor(server), ...authorization });
  opened.push(pusher);
  return pusher;
}

/** Settles when a channel is entered, or with why not. */
function outcome(pusher: PusherJs, name: string): Promise<unknown> {
  const channel = pusher.subscribe(name);
  return new Promise((resolve) => {
    channel.bind('pusher:subscription_succeeded', () => resolve('in'));
    channel.bind('pusher:subscription_error', resolve);
  });
}

const all = (pusher: PusherJs, names: readonly string[]) =>
  Promise.all(names.map((name) => outcome(pusher, name)));

function token(claims: object = { channels: GRANTED }): string {
  const parts = [
    { alg: 'HS256', kid: APP.key },
    { sub: 'änn', user_info: { name: 'Änn' }, exp: Math.floor(Date.now() / 1000) + 60, ...claims },
  ];
  const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
  const signed = text.join('.');
  return `${signed}.${createHmac('sha256', APP.secret).update(signed).digest('base64url')}`;
}

it('has at most 1.5 kB, compressed', async () => {
  const file = Bun.file(join(import.meta.dir, '../../sdk/authorize/index.js'));
  expect(Bun.gzipSync(await file.bytes(), { level: 9 }).length).toBeLessThanOrEqual(1500);
});

describe('channels that the grant of the sign-in covers', () => {
  it('need no request, also after a reconnect', async () => {
    const pusher = connect({ userEndpoint: url('/user-auth') });
    pusher.signin();
    expect(await all(pusher, [...CHANNELS, 'presence-team'])).toEqual(Array(41).fill('in'));
    expect(paths()).toEqual(['/user-auth']);
    const again = new Inbox<string>('Confirmations');
    for (const name of CHANNELS) {
      pusher.channel(name).bind('pusher:subscription_succeeded', () => again.put(name));
    }
    const left = new Promise<void>((resolve) =>
      pusher.connection.bind('disconnected', () => resolve()),
    );
    await library.terminateUserConnections('ann');
    await left;
    pusher.connect();
    for (const _ of CHANNELS) await again.next();
    expect(paths()).toEqual(['/user-auth', '/user-auth']);
  });

  it('need none with a token either', async () => {
    let asked = 0;
    const pusher = connect({
      token: async () => {
        asked += 1;
        return token({ sub: 'ann', channels: GRANTED });
      },
    });
    pusher.signin();
    expect(await all(pusher, [...CHANNELS, 'presence-team'])).toEqual(Array(41).fill('in'));
    expect([asked, calls]).toEqual([1, []]);
  });

  it('need none in Laravel Echo', async () => {
    const pusher = connect({ userEndpoint: url('/user-auth') });
    const echo = new Echo({ broadcaster: 'pusher', client: pusher, key: APP.key });
    const heard = new Inbox<unknown>('What Echo heard');
    pusher.signin();
    echo.join('team').here((users: unknown) => heard.put(users));
    expect(await heard.next()).toEqual([{ name: 'Ann' }]);
    echo.private('team-7').listen('.note', (data: unknown) => heard.put(data));
    await outcome(pusher, 'private-team-7x');
    await library.trigger('private-team-7', 'note', { a: 1 });
    expect(await heard.next()).toEqual({ a: 1 });
    expect(paths()).toEqual(['/user-auth']);
  });
});

describe('other channels', () => {
  it('share one request per turn, and one that is refused does not affect the others', async () => {
    const pusher = connect();
    const names = [...CHANNELS, 'presence-room'];
    const outcomes = await all(pusher, [...names, 'private-secret']);
    expect(outcomes.slice(0, 41)).toEqual(Array(41).fill('in'));
    expect(outcomes[41]).toMatchObject({
      type: 'AuthError',
      error: 'private-secret was refused with 403',
    });
    expect(calls.map(({ channels }) => channels)).toEqual([[...names, 'private-secret']]);
    expect(await outcome(pusher, 'private-later')).toBe('in');
    expect(calls).toHaveLength(2);
  });

  it('are asked for beside a grant, without those that it covers', async () => {
    const pusher = connect({ userEndpoint: url('/user-auth') });
    pusher.signin();
    expect(await all(pusher, ['private-team-1', 'private-x', 'presence-x', 'private-y'])).toEqual(
      Array(4).fill('in'),
    );
    expect(calls.map(({ channels }) => channels)).toEqual([
      [],
      ['private-x', 'presence-x', 'private-y'],
    ]);
  });

  it('are asked for if the sign-in fails, or its token cannot be read', async () => {
    answersWith = (path) => (path === '/user-auth' ? new Response('', { status: 500 }) : undefined);
    const pusher = connect({ userEndpoint: url('/user-auth') });
    pusher.signin();
    expect(await outcome(pusher, 'private-team-1')).toBe('in');
    const other = connect({ token: () => 'opaque' });
    other.signin();
    expect(await outcome(other, 'private-team-1')).toBe('in');
    expect(paths()).toEqual(['/user-auth', '/pusher/auth-batch', '/pusher/auth-batch']);
  });

  it('are all refused if the backend fails, or answers with something else', async () => {
    for (const [answer, why] of [
      [() => new Response('', { status: 500 }), 'was refused with 500'],
      [() => new Response('<html>'), ''],
      [() => Response.json(null), 'was refused with 403'],
      [() => Response.json({ 'private-a': null }), 'was refused with 403'],
    ] as const) {
      answersWith = answer;
      const pusher = connect();
      for (const refused of await all(pusher, ['private-a', 'private-b'])) {
        expect(refused).toMatchObject({ type: 'AuthError', error: expect.stringContaining(why) });
      }
    }
  });

  it('are asked for with headers and fields of the page', async () => {
    const pusher = connect({
      headers: () => ({ 'x-csrf-token': 'abc' }),
      params: { tenant: '7' },
    });
    expect(await outcome(pusher, 'private-a')).toBe('in');
    expect(calls[0]?.headers.get('x-csrf-token')).toBe('abc');
    expect(calls[0]?.fields).toMatchObject({
      tenant: '7',
      socket_id: pusher.connection.socket_id,
      channel_name: { 0: 'private-a' },
    });
  });
});

it('asks for encrypted channels always, and gets their keys', async () => {
  const name = 'private-encrypted-team-1';
  const granted = { ...GRANTED, 'private-encrypted-*': ['subscribe'], 'private-*': ['subscribe'] };
  const pusher = connect({ token: () => token({ sub: 'ann', channels: granted }) });
  pusher.signin();
  expect(await all(pusher, ['private-team-1', name])).toEqual(['in', 'in']);
  expect(calls.map(({ channels }) => channels)).toEqual([[name]]);
  const heard = new Inbox<unknown>('An encrypted event');
  pusher.channel(name).bind('note', (data: unknown) => heard.put(data));
  await library.trigger(name, 'note', { secret: 1 });
  expect(await heard.next()).toEqual({ secret: 1 });
});

import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import Pusher from 'pusher';
import { APP, type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { temporaryDirectory } from '../run-fanfare.ts';
import { closedPort, tcpServer } from './broken-servers.ts';
import { BACKEND, doctor, examine, failure, SHORT_SECONDS, warned } from './examine.ts';

/** The endpoint of an app, which gets what a form has. */
type Answer = (form: { socket: string; channel: string }, request: Request) => Response | object;

describe('the doctor asks the endpoint of an app that authorises channels and', () => {
  let server: Fanfare;
  let endpoint: Bun.Server<undefined>;
  let answer: Answer;
  const backend = (options: Partial<Pusher.Options> = {}) =>
    new Pusher({ appId: APP.id, key: APP.key, secret: APP.secret, host: 'unused', ...options });

  beforeAll(async () => {
    server = await startFanfare();
    endpoint = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      async fetch(request) {
        expect(request.method).toBe('POST');
        expect(request.headers.get('content-type')).toBe('application/x-www-form-urlencoded');
        const form = new URLSearchParams(await request.text());
        const given = answer(
          { socket: form.get('socket_id') ?? '', channel: form.get('channel_name') ?? '' },
          request,
        );
        return given instanceof Response ? given : Response.json(given);
      },
    });
  });
  afterAll(async () => {
    await endpoint.stop(true);
    await server[Symbol.asyncDispose]();
  });

  const url = () => `http://127.0.0.1:${endpoint.port}/pusher/auth?locale=en`;
  async function judge(given: Answer, options: Readonly<Record<string, string>> = {}) {
    answer = given;
    const found = await examine(server, {
      secret: APP.secret,
      'auth-endpoint': url(),
      'auth-channel': 'private-orders.7',
      ...options,
    });
    return found.of('auth-endpoint');
  }

  it.each(['private-orders.7', 'presence-room', 'private-encrypted-notes'])(
    'finds the answer of the official library in order: %s',
    async (channel) => {
      const key = Buffer.alloc(32, 7).toString('base64');
      const check = await judge(
        (form) => {
          const user = channel.startsWith('presence-') ? { user_id: 'ann' } : undefined;
          return backend({ encryptionMasterKeyBase64: key }).authorizeChannel(
            form.socket,
            form.channel,
            user,
          );
        },
        { 'auth-channel': channel },
      );
      expect(check).toMatchObject({
        result: 'ok',
        detail: `${channel} is authorised and signed as the server expects`,
      });
    },
  );

  it('sends what the browser of a visitor sends, from a file', async () => {
    using directory = temporaryDirectory({ headers: 'Cookie: session=abc\nX-CSRF-TOKEN: xyz\n' });
    let sent: (string | null)[] = [];
    const check = await judge(
      (form, { headers, url: asked }) => {
        sent = [headers.get('cookie'), headers.get('x-csrf-token'), new URL(asked).search];
        return backend().authorizeChannel(form.socket, form.channel);
      },
      { 'auth-headers-file': `${directory.path}/headers` },
    );
    expect(check).toMatchObject({ result: 'ok' });
    expect(sent).toEqual(['session=abc', 'xyz', '?locale=en']);
  });

  it('warns only if a channel is refused that no app knows', async () => {
    const refuse = () => new Response('{"message":"Forbidden"}', { status: 403 });
    const refused = await judge(refuse);
    expect(refused).toMatchObject(failure(/refuses private-orders\.7: 403/, 'routes/channels.php'));
    answer = refuse;
    const found = await examine(server, { ...BACKEND, 'auth-endpoint': url() });
    expect(found.of('auth-endpoint')).toMatchObject(warned(/refuses private-fanfare-doctor-/));
    expect(found.code).toBe(0);
  });

  it('says what an answer would do to a client', async () => {
    const redirect = new Response(null, { status: 302, headers: { location: '/login' } });
    expect(await judge(() => redirect)).toMatchObject(
      failure('redirects \\(302 to /login\\)', 'not logged in'),
    );
  });

  it('explains an endpoint that is not there, is silent, or whose address is none', async () => {
    await using silent = await tcpServer((socket) => socket.resume());
    const at = (port: number) => `http://127.0.0.1:${port}/auth`;
    for (const [address, detail] of [
      [at(await closedPort()), 'nothing listens'],
      [at(silent.port), 'says nothing for 0.4 s'],
      ['/pusher/auth', '--auth-endpoint: it is not a URL'],
      ['http://ann:secret@127.0.0.1/auth', 'user name or password'],
    ] as const) {
      const found = await examine(server, { 'auth-endpoint': address, timeout: SHORT_SECONDS });
      expect(found.of('auth-endpoint')).toMatchObject(failure(detail));
    }
  });

  it.each([
    [{ 'auth-channel': 'private-a' }, '--auth-channel needs --auth-endpoint'],
    [{ 'auth-headers': 'Cookie: a' }, '--auth-headers needs --auth-endpoint'],
    [{ 'auth-endpoint': 'http://a', 'auth-channel': 'orders' }, 'must begin with private-'],
    [
      { 'auth-endpoint': 'http://a', 'auth-headers': 'secretcookie' },
      'line 1 is not "Name: value"',
    ],
  ])('refuses %p with 2', async (options, why) => {
    const said = await doctor({ url: 'http://127.0.0.1:1', key: 'k', ...options });
    expect([said.code, said.printed]).toEqual([2, '']);
    expect(said.complained).toContain(why);
    expect(said.complained).not.toContain('secretcookie');
  });
});

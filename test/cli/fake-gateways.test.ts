import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { commandOf, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { INSTANCE, pushSettings } from '../../testing/servers/push-server.ts';
import { fanfare, temporaryDirectory } from './run-fanfare.ts';

const FREE = ['--port', '0', '--apns-port', '0', '--fcm-port', '0', '--web-port', '0'];

interface Received {
  readonly gateway: string;
  readonly to: string;
  readonly status: number | null;
  readonly reason: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly message: Readonly<Record<string, unknown>>;
}

/** The running command. */
interface Running extends AsyncDisposable {
  readonly controlUrl: string;
  readonly settings: Readonly<Record<'apns' | 'fcm' | 'web', Readonly<Record<string, unknown>>>>;
  /** The next line that it prints. */
  nextLine(): Promise<string>;
  ask(method: string, path: string, body?: object): Promise<Response>;
  /** Sends SIGTERM and returns the exit code. */
  stop(): Promise<number>;
}

async function run(directory: string, ...args: string[]): Promise<Running> {
  const child = Bun.spawn([...commandOf(), 'fake-gateways', '--json', ...args], {
    cwd: directory,
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const lines = linesOf(child.stdout);
  const nextLine = async () => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error('the command has ended');
    return value;
  };
  const { controlUrl, settings } = JSON.parse(await nextLine());
  return {
    controlUrl,
    settings,
    nextLine,
    ask: (method, path, body) =>
      fetch(controlUrl + path, { method, ...(body && { body: JSON.stringify(body) }) }),
    async stop() {
      child.kill('SIGTERM');
      return child.exited;
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
    },
  };
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of stream) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  return undefined;
}

async function received({ ask }: Running, query = ''): Promise<readonly Received[]> {
  return JSON.parse(await (await ask('GET', `/received${query}`)).text()).received;
}

describe('a server that uses fake gateways', () => {
  const directory = temporaryDirectory();
  let gateways: Running;
  let server: Fanfare;
  const apnsToken = 'ab'.repeat(32);
  const fcmToken = 'installation:APA91b';
  let endpoint: string;

  beforeAll(async () => {
    gateways = await run(directory.path, ...FREE);
    const { settings } = gateways;
    const instance = { id: INSTANCE.id, secretKeys: [INSTANCE.secretKey], ...settings };
    server = await startFanfare({ config: { push: pushSettings(instance) } });

    const { publicKey } = settings.web['vapid'] as { publicKey: string };
    const subscribed = await gateways.ask('POST', '/subscriptions', {
      applicationServerKey: publicKey,
    });
    expect(subscribed.status).toBe(201);
    const subscription = JSON.parse(await subscribed.text());
    endpoint = subscription.endpoint;
    const devices = [
      ['apns', { token: apnsToken, bundleIdentifier: 'com.example.app' }],
      ['fcm', { token: fcmToken }],
      ['web', { token: subscription.token }],
    ] as const;
    for (const [platform, body] of devices) await register(platform, body);
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await gateways?.[Symbol.asyncDispose]();
    directory[Symbol.dispose]();
  });

  const post = async (path: string, body: object, method = 'POST') => {
    const answer = await fetch(`http://127.0.0.1:${server.pushPort}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${INSTANCE.secretKey}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify(body),
    });
    expect(answer.status).toBe(200);
    const text = await answer.text();
    return text === '' ? {} : JSON.parse(text);
  };

  async function register(platform: string, body: object): Promise<void> {
    const devices = `/device_api/v1/instances/${INSTANCE.id}/devices/${platform}`;
    const { id } = await post(devices, body);
    await post(`${devices}/${id}/interests`, { interests: [platform, 'all'] }, 'PUT');
  }

  const publish = (body: object) =>
    post(`/publish_api/v1/instances/${INSTANCE.id}/publishes/interests`, body);

  it('delivers to every platform, and the fakes print and record what arrives', async () => {
    const { publishId } = await publish({
      interests: ['all'],
      apns: { aps: { alert: 'Hello' } },
      fcm: { notification: { title: 'Hello' } },
      web: { notification: { title: 'Hello' } },
    });
    const shown: Received[] = [];
    while (shown.length < 3) shown.push(JSON.parse(await gateways.nextLine()).received);
    const byGateway = (list: readonly Received[]) =>
      list.toSorted((one, other) => one.gateway.localeCompare(other.gateway));
    expect(byGateway(shown)).toEqual([
      expect.objectContaining({
        gateway: 'apns',
        to: apnsToken,
        status: 200,
        reason: null,
        headers: expect.objectContaining({ 'apns-topic': 'com.example.app' }),
        message: expect.objectContaining({ aps: { alert: 'Hello', 'content-available': 1 } }),
      }),
      expect.objectContaining({
        gateway: 'fcm',
        to: fcmToken,
        status: 200,
        message: { message: expect.objectContaining({ notification: { title: 'Hello' } }) },
      }),
      expect.objectContaining({
        gateway: 'web',
        to: endpoint,
        status: 201,
        headers: expect.objectContaining({ ttl: expect.stringMatching(/^24\d{5}$/) }),
        message: expect.objectContaining({ notification: { title: 'Hello' } }),
      }),
    ]);
    for (const { message } of shown) expect(JSON.stringify(message)).toContain(publishId);

    expect(byGateway(await received(gateways))).toEqual(byGateway(shown));
    expect(await received(gateways, '?gateway=fcm')).toHaveLength(1);
    expect(await received(gateways, `?to=${apnsToken}`)).toHaveLength(1);
    expect((await gateways.ask('DELETE', '/received')).status).toBe(204);
    expect(await received(gateways)).toEqual([]);
  });

  it('does what the pages say: every curl of testing.md', async () => {
    const page = await Bun.file(join(import.meta.dir, '../../docs/use/testing.md')).text();
    const commands = [...page.matchAll(/^curl .*$/gm)].map(([command]) => command);
    expect(commands).toHaveLength(5);
    const { publicKey } = gateways.settings.web['vapid'] as { publicKey: string };
    let device = '';
    for (const command of commands) {
      const here = command
        .replace('http://127.0.0.1:6010', gateways.controlUrl)
        .replace('http://127.0.0.1:6002', `http://127.0.0.1:${server.pushPort}`)
        .replace('INSTANCE-ID', INSTANCE.id)
        .replace('DEVICE-ID', device)
        .replace('THE VAPID PUBLIC KEY', publicKey)
        .replace(/^curl/, 'curl -sSf');
      const answer = await Bun.$`sh -c ${here}`.text();
      // The page names the interests of the device with the token for FCM.
      if (command.includes('/devices/fcm ')) device = JSON.parse(answer).id;
    }
    await publish({ interests: ['order-7'], fcm: { data: { a: 'b' } } });
    const { received } = JSON.parse(await gateways.nextLine());
    const [, example = ''] = /```json\n([\s\S]*?)```/.exec(page) ?? [];
    expect(received).toMatchObject({ gateway: 'fcm', to: 'any-text', status: 200 });
    expect(Object.keys(received)).toEqual(Object.keys(JSON.parse(example)));
    await gateways.ask('DELETE', '/script');
  });

  it('prints the settings that testing.md shows', async () => {
    const page = await Bun.file(join(import.meta.dir, '../../docs/use/testing.md')).text();
    const [, example = ''] = /```jsonc\n([\s\S]*?)```/.exec(page) ?? [];
    const { push } = JSON.parse(example.replace(/^ *\/\/.*$/gm, ''));
    const [{ id: _, secretKeys: __, ...shown }] = push.instances;
    const names = (settings: object) =>
      Object.entries(settings).map(([gateway, of]) => [gateway, Object.keys(of)]);
    expect(names(shown)).toEqual(names(gateways.settings));
  });

  it('gets the failures that a test sets up', async () => {
    const failures = [
      { gateway: 'apns', to: apnsToken, status: 410, error: 'Unregistered' },
      { gateway: 'fcm', to: fcmToken, status: 503, error: 'UNAVAILABLE', times: 1 },
      { gateway: 'web', to: endpoint, act: 'reset', times: 1 },
    ];
    for (const failure of failures) {
      expect((await gateways.ask('POST', '/script', failure)).status).toBe(204);
    }
    await publish({
      interests: ['all'],
      apns: { aps: { alert: 'Again' } },
      fcm: { data: { again: 'yes' } },
      web: { notification: { title: 'Again' } },
    });
    // One token is dead, the others are delivered at the second attempt.
    const shown: Received[] = [];
    while (shown.length < 5) shown.push(JSON.parse(await gateways.nextLine()).received);
    const inShort = shown.map(({ gateway, status, reason }) => [gateway, status, reason].join(' '));
    expect(inShort.toSorted()).toEqual([
      'apns 410 Unregistered',
      'fcm 200 ',
      'fcm 503 UNAVAILABLE',
      'web  ',
      'web 201 ',
    ]);
    expect((await gateways.ask('DELETE', '/script')).status).toBe(204);
  });
});

describe('fanfare fake-gateways', () => {
  it('keeps its keys for the next start, and ends with 0', async () => {
    using directory = temporaryDirectory();
    const file = (name: string) => join(directory.path, 'keys', name);
    const shownIn = async () => {
      await using gateways = await run(directory.path, ...FREE, '--directory', 'keys');
      const { apns, fcm, web } = gateways.settings;
      expect(await (await gateways.ask('GET', '/settings')).json()).toEqual(gateways.settings);
      const texts = ['ca.pem', 'apns-key.p8'].map((name) => Bun.file(file(name)).text());
      const { token_uri, ...account } = await Bun.file(file('service-account.json')).json();
      expect(token_uri).toBe(`${fcm['origin']}/token`);
      expect(await gateways.stop()).toBe(0);
      return [await Promise.all(texts), account, apns['privateKeyFile'], web];
    };
    const first = await shownIn();
    expect(first[2]).toBe(file('apns-key.p8'));
    expect(await shownIn()).toEqual(first);
    for (const name of ['apns-key.p8', 'ca-key.pem', 'service-account.json', 'vapid.json']) {
      expect(statSync(file(name)).mode & 0o077).toBe(0);
    }
  });

  it('replaces files that are damaged or for another host', async () => {
    using directory = temporaryDirectory();
    const directoryOption = ['--directory', directory.path];
    const certificate = () => Bun.file(join(directory.path, 'ca.pem')).text();
    await (await run(directory.path, ...FREE, ...directoryOption)).stop();
    const first = await certificate();
    for (const name of ['apns-key.p8', 'service-account.json', 'vapid.json']) {
      await Bun.write(join(directory.path, name), 'spoilt');
    }
    await using gateways = await run(
      directory.path,
      ...FREE,
      ...directoryOption,
      '--host',
      '127.0.0.2',
    );
    expect(await certificate()).not.toBe(first);
    expect(gateways.settings.apns['origin']).toStartWith('https://127.0.0.2:');
    expect(gateways.controlUrl).toStartWith('http://127.0.0.2:');
    expect(gateways.settings.web['allowedHosts']).toEqual(['127.0.0.2']);
  });

  it('explains invalid requests of a test', async () => {
    using directory = temporaryDirectory();
    await using gateways = await run(directory.path, ...FREE);
    const refusals: readonly (readonly [object, string])[] = [
      [{ gateway: 'gcm' }, 'gateway must be one of apns, fcm, web'],
      [{ gateway: 'fcm', tims: 1 }, 'unknown field "tims"'],
      [{ gateway: 'fcm' }, 'status must be a number from 200 to 599'],
      [{ gateway: 'fcm', act: 'explode' }, 'act must be one of answer, hang'],
      [{ gateway: 'fcm', act: 'hang', times: 0 }, 'times must be a whole number'],
      [{ gateway: 'fcm', act: 'hang', to: 7 }, 'to must be a token or an endpoint'],
      [{ gateway: 'fcm', latencyMs: -1 }, 'latencyMs must be a whole number'],
      [{ gateway: 'fcm', status: 500, headers: { 'a\n': 'b' } }, 'headers must be'],
      [{ gateway: 'fcm', status: 500, error: 7 }, 'error must be a string'],
    ];
    for (const [body, why] of refusals) {
      const answer = await gateways.ask('POST', '/script', body);
      const { error } = JSON.parse(await answer.text());
      expect([answer.status, error]).toEqual([400, expect.stringContaining(why)]);
    }
    expect((await gateways.ask('POST', '/script')).status).toBe(400);
    expect((await gateways.ask('POST', '/subscriptions', {})).status).toBe(400);
    expect((await gateways.ask('GET', '/script')).headers.get('allow')).toBe('POST, DELETE');
    expect((await gateways.ask('GET', '/toString')).status).toBe(404);
  });

  it('reports in one line that a port is taken, and ends with 1', async () => {
    using directory = temporaryDirectory();
    const other = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() });
    for (const name of ['port', 'apns-port', 'fcm-port', 'web-port']) {
      const args = [...FREE, `--${name}`, String(other.port)];
      const ended = await fanfare(directory.path, ['fake-gateways', ...args]);
      expect(ended).toMatchObject({ exitCode: 1, stdout: '' });
      expect(ended.stderr).toMatch(
        /^fanfare: 127\.0\.0\.1:\d+ \(\w+\) is in use by another program\n$/,
      );
    }
    await other.stop(true);
  });

  it.each([
    [['--host', '::1'], '--host must be a name or an IPv4 address'],
    [['--fcm-port', '70000'], '--fcm-port must be a port'],
    [['more'], 'unexpected "more"'],
  ])('refuses %p with 2', async (args, why) => {
    using directory = temporaryDirectory();
    const ended = await fanfare(directory.path, ['fake-gateways', ...args]);
    expect(ended).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(why) });
  });
});

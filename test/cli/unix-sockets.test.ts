import { afterAll, beforeAll, expect, it } from 'bun:test';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { PushRequests } from '../../testing/clients/push-requests.ts';
import type { RawRequest } from '../../testing/clients/raw-http.ts';
import { signedTarget } from '../../testing/clients/sign.ts';
import { eventually } from '../../testing/eventually.ts';
import { APP, configOf, type Fanfare, spawnFanfare } from '../../testing/servers/fanfare.ts';
import { instanceSettings, pushSettings } from '../../testing/servers/push-server.ts';
import { fanfare, fanfareProcess } from './run-fanfare.ts';

/** A server that listens on Unix sockets only. It is one in all test runs, because threads and servers cannot share them. */

const directory = mkdtempSync(join(tmpdir(), 'fanfare-sockets-'));
const pathOf = (name: string) => join(directory, name);
const channels = pathOf('channels.sock');
const push = pathOf('push.sock');
const admin = pathOf('admin.sock');
const config = pathOf('config.json');
const requests = new PushRequests();
const instance = instanceSettings();

let server: Fanfare;

/** Writes the configuration, with one more setting for each listener. */
function configure(hosts: { readonly channels?: string; readonly push?: string } = {}): void {
  const settings = configOf(directory, {
    channels: { host: `unix:${hosts.channels ?? channels}`, port: 6001 },
    config: {
      push: { ...pushSettings(instance), host: `unix:${hosts.push ?? push}` },
      admin: { host: `unix:${admin}` },
    },
  });
  writeFileSync(config, JSON.stringify(settings));
}

async function start(): Promise<void> {
  const one = { FANFARE_REALTIME_THREADS: 'auto' };
  server = await spawnFanfare(['serve', '--config', config], directory, one);
}

/** Sends a request to a socket. */
async function ask(unix: string, { method, target, headers, body }: RawRequest): Promise<Response> {
  return await fetch(`http://localhost${target}`, {
    unix,
    method,
    ...(headers === undefined ? {} : { headers }),
    ...(body === undefined ? {} : { body }),
  });
}

/** Runs a command with the configuration of the server. */
const command = (...words: readonly string[]) => fanfare(directory, [...words, '--config', config]);

/** Runs a server that cannot start, to its end. */
const startInVain = (environment: Readonly<Record<string, string>>) =>
  fanfareProcess(directory, ['serve', '--config', config], {
    FANFARE_REALTIME_THREADS: 'auto',
    FANFARE_STORE_URL: `sqlite:${pathOf('other.db')}`,
    ...environment,
  });

/** Subscribes a WebSocket, triggers an event and waits for it. */
async function eventArrives(): Promise<void> {
  const received: string[] = [];
  const socket = new WebSocket(`ws+unix://${channels}:/app/${APP.key}?protocol=7`);
  socket.onmessage = ({ data }) => received.push(String(data));
  await eventually(
    () => received.join(),
    (text) => text.includes('connection_established'),
  );
  socket.send('{"event":"pusher:subscribe","data":{"channel":"news"}}');
  await eventually(
    () => received.join(),
    (text) => text.includes('subscription_succeeded'),
  );
  const body = JSON.stringify({ name: 'headline', channel: 'news', data: 'extra' });
  const path = `/apps/${APP.id}/events`;
  const target = signedTarget('POST', path, { body });
  expect((await ask(channels, { method: 'POST', target, body })).status).toBe(200);
  await eventually(
    () => received.join(),
    (text) => text.includes('extra'),
  );
  socket.close();
}

const publish = () =>
  requests.publish({ interests: ['nobody'], web: { notification: { title: 'x' } } });

beforeAll(async () => {
  configure();
  await start();
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

it('serves all three listeners to its own user and group', async () => {
  for (const path of [channels, push, admin]) {
    expect((statSync(path).mode & 0o7777).toString(8)).toBe('660');
  }
  await eventArrives();
  expect((await ask(push, publish())).status).toBe(200);
  expect(server.output.stdout).toContain(`Channels  unix:${channels} `);
  expect(server.output.stdout).toContain('Dashboard https://YOUR-HOST/dashboard');
});

it('is reached by the commands of this machine', async () => {
  expect(await command('health', '--ready')).toMatchObject({
    exitCode: 0,
    stdout: expect.stringContaining(`(server ${hostname()}:${channels})`),
  });
  expect(await command('admin', 'link')).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(/^https:\/\/YOUR-HOST\/dashboard#token=/),
  });
  const { publishId } = (await (await ask(push, publish())).json()) as { publishId: string };
  expect(await command('push', 'status', publishId)).toMatchObject({ exitCode: 0 });
});

it('believes what the proxy says of the client, and otherwise knows one address', async () => {
  const handshake = {
    method: 'GET',
    target: '/app/unknown?protocol=7',
    headers: { 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==', upgrade: 'nothing' },
  };
  const requestsOf: readonly (readonly [string, RawRequest])[] = [
    [channels, { method: 'GET', target: '/apps/none/channels' }],
    [push, { ...publish(), headers: {} }],
    [admin, { method: 'GET', target: '/api/v1/apps' }],
    [channels, handshake],
  ];
  for (const [at, [path, request]] of requestsOf.entries()) {
    const client = `192.0.2.${at + 1}`;
    const named = server.logged(new RegExp(`"address":"${client}"`));
    const headers = { ...request.headers, 'x-forwarded-for': `203.0.113.9, ${client}` };
    await ask(path, { ...request, headers });
    await named;
  }
  const unnamed = server.logged(/Admin request refused.*"address":"unix"/);
  await ask(admin, { method: 'GET', target: '/api/v1/apps' });
  await unnamed;
});

it('does not start where a program listens, a file is no socket, or there is no directory', async () => {
  expect(
    await startInVain({ FANFARE_ADMIN_HOST: '127.0.0.1', FANFARE_ADMIN_PORT: '0' }),
  ).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining(`${push} (push.host) is in use by another program`),
  });
  const note = pathOf('note');
  writeFileSync(note, 'keep');
  expect(await startInVain({ FANFARE_ADMIN_HOST: `unix:${note}` })).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining(`${note} (admin.host) exists and is no socket`),
  });
  expect(readFileSync(note, 'utf8')).toBe('keep');
  const lost = pathOf('none/a.sock');
  expect(await startInVain({ FANFARE_ADMIN_HOST: `unix:${lost}` })).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining(
      `${lost} (admin.host) cannot be made: its directory does not exist`,
    ),
  });
  await eventArrives();
});

it('does not start with what such a listener does not have', async () => {
  const refused = (environment: Readonly<Record<string, string>>) =>
    fanfare(directory, ['serve', '--config', config], environment);
  expect(await refused({ FANFARE_REALTIME_THREADS: '2' })).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('realtime.threads: channels.host is a Unix socket'),
  });
  const files = { FANFARE_TLS_CERT_FILE: '/none', FANFARE_TLS_KEY_FILE: '/none' };
  expect(await refused({ FANFARE_REALTIME_THREADS: 'auto', ...files })).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('tls: channels.host is a Unix socket, which has no TLS'),
  });
});

it('starts again after it was killed, and removes its files when it stops', async () => {
  await server.stop('SIGKILL');
  expect([channels, push, admin].map((path) => existsSync(path))).toEqual([true, true, true]);
  // Push comes to the socket of Channels now, and is told apart by its paths.
  configure({ push: channels });
  await start();
  await eventArrives();
  expect((await ask(channels, publish())).status).toBe(200);
  const named = server.logged(/"address":"192.0.2.77"/);
  const wrong = { authorization: 'Bearer wrong', 'x-forwarded-for': '192.0.2.77' };
  const headers = { ...publish().headers, ...wrong };
  expect((await ask(channels, { ...publish(), headers })).status).toBe(401);
  await named;
  expect(await server.stop()).toBe(0);
  expect([channels, admin].map((path) => existsSync(path))).toEqual([false, false]);
});

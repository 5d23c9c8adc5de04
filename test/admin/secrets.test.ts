import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Operation } from '../../src/admin/operation.ts';
import { operations } from '../../src/admin/operations.ts';
import { newP256Pair } from '../../src/fake-gateways/p256.ts';
import { admin, makeApp, webhooksOf } from '../../testing/clients/admin-api.ts';
import { RawClient } from '../../testing/clients/raw-client.ts';
import { channelAuth, hmac, signedTarget } from '../../testing/clients/sign.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import {
  beamsToken,
  INSTANCE,
  published,
  registered,
  setUser,
  TO_USERS,
} from '../protocol/push/exchange.ts';

/** Searches everything that the admin listener returns for the secrets of a server that has one of each kind. */

const CHANNEL = 'private-room';
const URL_PASSWORD = 'url-hunter2';
const URL_TOKEN = 'url-t0ken';
const WEBHOOK_SECRET = 'webhook-signing-secret';
const DEVICE_TOKEN = 'd-x:a-device-token-of-fcm-that-is-long-enough';

const vapid = newP256Pair();
const apnsKey = pem('ec');
const fcmKey = pem('rsa');

/** A private key as its text, and a piece of it that nothing else has. */
function pem(kind: 'ec' | 'rsa'): { text: string; piece: string } {
  const { privateKey } =
    kind === 'ec'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('rsa', { modulusLength: 2048 });
  const text = String(privateKey.export({ type: 'pkcs8', format: 'pem' }));
  return { text, piece: text.split('\n')[2]?.slice(0, 40) ?? '' };
}

/** The secrets that must not be found, by their kinds. */
const secrets = new Map<string, string>();

let folder: string;
let endpoint: Bun.Server<undefined>;
let server: Fanfare;
let client: RawClient & { socketId: string };
let storedApp: string;
let webhook: string;
let device: string;
let publish: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fanfare-secrets-'));
  const privateKeyFile = join(folder, 'key.p8');
  writeFileSync(privateKeyFile, apnsKey.text);
  const serviceAccount = JSON.stringify({
    type: 'service_account',
    project_id: 'shop',
    private_key: fcmKey.text,
    client_email: 'a@shop.iam.gserviceaccount.com',
    token_uri: 'http://127.0.0.1:9/token',
  });
  endpoint = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => new Response('no', { status: 500 }),
  });
  const url = `http://user:${URL_PASSWORD}@127.0.0.1:${endpoint.port}/hook?token=${URL_TOKEN}`;
  server = await startFanfare({
    app: { webhooks: [{ url, events: ['channel_occupied'] }], clientEvents: true, grants: {} },
    config: {
      webhooks: { allowPrivateAddresses: true },
      push: {
        port: 0,
        instances: [
          {
            id: INSTANCE.id,
            secretKeys: [INSTANCE.secretKey],
            apns: { teamId: 'TEAM', keyId: 'KEY', privateKeyFile },
            fcm: { serviceAccount, origin: 'http://127.0.0.1:9' },
            web: {
              vapid: {
                publicKey: vapid.publicText,
                privateKey: vapid.privateText,
                subject: 'mailto:ops@example.org',
              },
            },
            webhooks: [{ url, events: ['v1.UserNotificationOpen'], secret: WEBHOOK_SECRET }],
          },
        ],
      },
    },
  });
  const app = await makeApp(server, {
    webhooks: [{ url, events: ['channel_occupied'] }],
    grants: {},
  });
  storedApp = app.id;
  const token = beamsToken();
  device = await registered(server, 'fcm', { token: DEVICE_TOKEN });
  await setUser(server, device, token);
  publish = await published(server, TO_USERS);
  client = await RawClient.connect(server);
  const auth = channelAuth(client.socketId, CHANNEL);
  await client.subscribe(CHANNEL, auth);
  const userData = JSON.stringify({ id: 'ann', user_info: { name: 'Ann' } });
  const signIn = hmac(`${client.socketId}::user::${userData}`);
  client.send({
    event: 'pusher:signin',
    data: { auth: `${APP.key}:${signIn}`, user_data: userData },
  });
  [{ id: webhook } = { id: '' }] = await webhooksOf(server, `app=${APP.id}`, 1);
  const session = await admin(server, 'POST', '/session', {
    body: { password: server.adminPassword },
  });

  secrets.set('the secret of an app of the configuration', APP.secret);
  secrets.set('the secret of an app of the store', app.secret);
  secrets.set('the secret key of an instance', INSTANCE.secretKey);
  secrets.set('a VAPID private key', vapid.privateText);
  secrets.set('the key for APNs', apnsKey.piece);
  secrets.set('the service account of FCM', fcmKey.piece);
  secrets.set('the secret of a webhook', WEBHOOK_SECRET);
  secrets.set('a password in a URL', URL_PASSWORD);
  secrets.set('a token in a URL', URL_TOKEN);
  secrets.set('the URL of the store', 'fanfare.db');
  secrets.set('the signature of a subscription', auth.auth.split(':')[1] ?? '');
  secrets.set('the signature of a sign-in', signIn);
  secrets.set('the signature of a request', await triggers('e'));
  secrets.set('the Beams token of a user', token);
  secrets.set('the token of a device', DEVICE_TOKEN.slice(8));
  secrets.set('the password of the admin API', server.adminPassword ?? '');
  secrets.set('the cookie of a session', session.headers.get('set-cookie')?.split('.')[2] ?? '');
});
afterAll(async () => {
  await client[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  await endpoint.stop(true);
  rmSync(folder, { recursive: true, force: true });
});

/** A path with its variables. Fails if it has others. */
function filled(path: string, values: Readonly<Record<string, string>>): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`Say which ${name} there is for ${path}`);
    return value;
  });
}

/** Triggers an event, and returns the signature of the request. */
async function triggers(name: string): Promise<string> {
  const body = JSON.stringify({ name, channel: CHANNEL, data: 'x' });
  const target = signedTarget('POST', `/apps/${APP.id}/events`, { body });
  const headers = { 'content-type': 'application/json' };
  const url = `http://127.0.0.1:${server.port}${target}`;
  expect((await fetch(url, { method: 'POST', headers, body })).status).toBe(200);
  return /auth_signature=(\w{64})/.exec(target)?.[1] ?? '';
}

function expectNoSecret(where: string, text: string): void {
  expect([...secrets.values()].filter((secret) => secret.length < 8)).toEqual([]);
  const found = [...secrets].filter(([, secret]) => text.includes(secret)).map(([kind]) => kind);
  expect([where, found]).toEqual([where, []]);
}

/** Operations that make or take away what others need here, or that make a secret, which they show once. */
const NOT_ASKED = [
  'createApp',
  'createInstance',
  'addKey',
  'addSecretKey',
  'removeKey',
  'removeSecretKey',
  'deleteApp',
  'deleteInstance',
  'endConnection',
  'forgetChannelHistory',
  'removeDevice',
];

/** The body of each operation that takes one. */
const bodies: Readonly<Record<string, () => object>> = {
  logIn: () => ({ password: server.adminPassword }),
  logOut: () => ({}),
  makeLogInLink: () => ({}),
  revokeGrants: () => ({ userId: 'ann' }),
  changeApp: () => ({ name: 'x' }),
  changeInstance: () => ({ name: 'x' }),
  enableApp: () => ({}),
  disableApp: () => ({}),
  checkGateway: () => ({ platform: 'fcm' }),
  previewPublish: () => ({ interests: ['a'], apns: { aps: { alert: 'x' } }, fcm: {}, web: {} }),
  sendPublish: () => ({ interests: ['a'], web: {} }),
  removeDevices: () => ({ neverAccepted: true, dryRun: true }),
  cancelPublish: () => ({}),
  replayWebhook: () => ({}),
  replayWebhooks: () => ({ app: APP.id }),
  testWebhook: () => ({ url: `http://***@127.0.0.1:${endpoint.port}/hook?token=***` }),
  sendEvent: () => ({ name: 'e', channels: [CHANNEL], data: '{}' }),
  checkAuth: () => ({
    channel: CHANNEL,
    socketId: client.socketId,
    auth: `${APP.key}:${'0'.repeat(64)}`,
  }),
};

/** The ids with which an operation is asked. */
function idsFor({ path }: Operation): readonly string[] {
  if (!path.includes('{id}')) return [''];
  if (path.startsWith('/apps')) return [APP.id, storedApp];
  if (path.startsWith('/instances')) return [INSTANCE.id];
  if (path.startsWith('/webhooks')) return [webhook];
  throw new Error(`Say which ids there are for ${path}`);
}

describe('no secret is', () => {
  it.each(
    operations
      .filter(({ id, events }) => !NOT_ASKED.includes(id) && events === undefined)
      .map((one) => [one.id, one] as const),
  )('in the answer of %s', async (id, operation) => {
    const { method, path } = operation;
    const body = method === 'GET' ? undefined : bodies[id]?.();
    if (method !== 'GET' && body === undefined) throw new Error(`Say with which body to ask ${id}`);
    for (const given of idsFor(operation)) {
      const values = { name: CHANNEL, socket: client.socketId, device, publish, user: 'ann' };
      const query = id === 'getUser' ? `?app=${APP.id}&instance=${INSTANCE.id}` : '';
      const target = filled(path, { ...values, id: given }) + query;
      const answer = await admin(server, method, target, { body });
      expect(answer.status).not.toBe(400);
      expectNoSecret(`${method} ${path}`, answer.text);
    }
  });

  it('in the metrics, nor in what the server logs', async () => {
    expectNoSecret('metrics', (await admin(server, 'GET', '//metrics')).text);
    expectNoSecret('log', server.output.stderr);
  });

  it('in what the server logs of a signature that is valid for something else', async () => {
    const { auth } = channelAuth(client.socketId, 'private-other');
    secrets.set('the signature of another subscription', auth.split(':')[1] ?? '');
    const subscription = server.logsNext(/Subscription refused/);
    client.send({ event: 'pusher:subscribe', data: { channel: 'private-x', auth } });
    expectNoSecret('log', await subscription);
    const target = signedTarget('GET', `/apps/${APP.id}/channels`);
    secrets.set('the signature of another request', target.split('auth_signature=')[1] ?? '');
    const request = server.logsNext(/Request refused/);
    await fetch(`http://127.0.0.1:${server.port}${target.replace('?', '/x?')}`);
    expectNoSecret('log', await request);
  });

  it('in the page and its files', async () => {
    const page = await admin(server, 'GET', '//dashboard');
    expectNoSecret('page', page.text);
    const names = (text: string) => [...text.matchAll(/[\w-]+-[\da-z]{8}\.(?:js|css|svg)/g)];
    const files = new Set(names(page.text).map(([name]) => name));
    for (const file of files) {
      const { status, text } = await admin(server, 'GET', `//dashboard/assets/${file}`);
      expect([file, status]).toEqual([file, 200]);
      expectNoSecret(file, text);
      for (const [name] of names(text)) files.add(name);
    }
    expect(files.size).toBeGreaterThan(3);
  });

  it('in a stream', async () => {
    for (const { path } of operations.filter(({ events }) => events !== undefined)) {
      const ofLog = path.startsWith('/log');
      const id = path.startsWith('/apps') ? APP.id : INSTANCE.id;
      const target = `${filled(path, { id })}${ofLog ? '?after=0' : ''}`;
      const last = ofLog ? 'Log stream opened' : 'the last event';
      const watching = new AbortController();
      const response = await fetch(`http://127.0.0.1:${server.adminPort}/api/v1${target}`, {
        headers: { authorization: `Bearer ${server.adminPassword}` },
        signal: watching.signal,
      });
      let received = '';
      const decoder = new TextDecoder();
      const reader = response.body?.getReader();
      // What happens is in the stream once what happened last is in it.
      let hasBegun = ofLog;
      while (!received.includes(last)) {
        const { value, done = true } = (await reader?.read()) ?? {};
        if (done) break;
        received += decoder.decode(value, { stream: true });
        // Whatever server it happens at must know of the stream.
        const watched = new Set(received.match(/"name":"[^"]+","away"/g));
        if (hasBegun || watched.size < server.nodes.length) continue;
        hasBegun = true;
        if (id === INSTANCE.id) {
          await registered(server, 'fcm', { token: DEVICE_TOKEN });
          await published(server, { ...TO_USERS, users: ['the last event'] });
          continue;
        }
        await using other = await RawClient.connect(server);
        const userData = JSON.stringify({ id: 'bob' });
        const signIn = hmac(`${other.socketId}::user::${userData}`);
        const { auth } = channelAuth(other.socketId, CHANNEL);
        secrets.set('the signature of a sign-in in the stream', signIn);
        secrets.set('the signature of a subscription in the stream', auth.split(':')[1] ?? '');
        other.send({
          event: 'pusher:signin',
          data: { auth: `${APP.key}:${signIn}`, user_data: userData },
        });
        other.send({ event: 'pusher:subscribe', data: { channel: CHANNEL, auth } });
        other.send({ event: 'pusher:subscribe', data: { channel: 'private-x', auth } });
        secrets.set('the signature of a request in the stream', await triggers('the last event'));
      }
      watching.abort();
      expect(received).toContain(last);
      expectNoSecret(path, received);
    }
  });
});

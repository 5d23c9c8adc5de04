import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeSelfSigned } from '../../src/certificates/self-signed.ts';
import { type FakeApns, startFakeApns } from '../../src/fake-gateways/apns/fake-apns.ts';
import { type FakeFcm, startFakeFcm } from '../../src/fake-gateways/fcm/fake-fcm.ts';
import { newP256Pair } from '../../src/fake-gateways/p256.ts';
import { type FakeWebPush, startFakeWebPush } from '../../src/fake-gateways/web/fake-web-push.ts';
import { PushRequests, requestPush } from '../../testing/clients/push-requests.ts';
import { RawClient } from '../../testing/clients/raw-client.ts';
import { eventually } from '../../testing/eventually.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import {
  type ForwardProxyServer,
  type ProxiedRequest,
  startForwardProxy,
} from '../../testing/servers/forward-proxy.ts';
import { startNameServer } from '../../testing/servers/name-server.ts';
import { INSTANCE, pushSettings } from '../../testing/servers/push-server.ts';
import {
  startWebhookEndpoint,
  type WebhookEndpoint,
} from '../../testing/servers/webhook-endpoint.ts';
import { writeSigningKey } from '../failure/push/delivery-site.ts';

/**
 * A server whose requests go through a proxy. All names have addresses of other machines, so what arrives here has come
 * through the proxy.
 */

const LONG_MS = 120_000;
const ADDRESS = '93.184.216.34';
const NAMES = {
  apns: 'apns.example.test',
  fcm: 'fcm.example.test',
  web: 'push.example.test',
  hooks: 'hooks.example.test',
  secureHooks: 'secure-hooks.example.test',
  inner: 'inner.example.test',
} as const;
const PASSWORD = 'p:ss/wörd';
const KEY = { teamId: 'TEAM000000', keyId: 'KEY0000000' };

const stops = new AsyncDisposableStack();
afterAll(() => stops.disposeAsync());

const requests = new PushRequests();
const tokens = { apns: 'ab'.repeat(32), fcm: 'token-of-a-phone' };
let proxy: ForwardProxyServer;
let trap: ForwardProxyServer;
let apns: FakeApns;
let fcm: FakeFcm;
let web: FakeWebPush;
let hooks: WebhookEndpoint;
let secureHooks: Inbox;
let server: Fanfare;
const devices: string[] = [];
/** How the proxy answers instead of connecting. */
let refusal: string | undefined;
const heads: ProxiedRequest[] = [];

type Inbox = { readonly received: string[]; readonly port: number };

beforeAll(async () => {
  const directory = mkdtempSync(join(tmpdir(), 'fanfare-proxy-'));
  stops.defer(() => rmSync(directory, { recursive: true }));
  const certificate = makeSelfSigned(Object.values(NAMES), Date.now());
  const caFile = join(directory, 'ca.pem');
  writeFileSync(caFile, certificate.cert);

  proxy = stops.use(
    await startForwardProxy({
      portOf: (_, port) => port,
      answer(request, socket) {
        heads.push(request);
        if (refusal === undefined) return false;
        socket.end(refusal);
        return true;
      },
    }),
  );
  trap = stops.use(await startForwardProxy({ portOf: (_, port) => port }));
  const names = stops.use(
    await startNameServer({
      answer: (name, family) => {
        if (family === 6) return [];
        return name === NAMES.inner ? ['10.1.2.3'] : [ADDRESS];
      },
    }),
  );

  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const keyFile = join(directory, 'key.p8');
  writeSigningKey(keyFile, privateKey);
  apns = stops.use(await startFakeApns({ certificate, keys: [{ ...KEY, publicKey }] }));
  fcm = stops.use(await startFakeFcm({ host: NAMES.fcm, address: '127.0.0.1', certificate }));
  web = stops.use(startFakeWebPush({ host: NAMES.web, certificate }));
  const accountFile = join(directory, 'account.json');
  writeFileSync(accountFile, fcm.accountFile);
  const pair = newP256Pair();
  const vapid = {
    publicKey: pair.publicText,
    privateKey: pair.privateText,
    subject: 'mailto:ops@example.org',
  };

  hooks = stops.use(startWebhookEndpoint());
  secureHooks = startSecureHooks(certificate);
  const urls = [
    `http://${NAMES.hooks}:${new URL(hooks.url).port}/hooks`,
    `https://${NAMES.secureHooks}:${secureHooks.port}/hooks`,
    `http://${NAMES.inner}/hooks`,
    'http://192.168.1.1/hooks',
  ];
  const user = `us%40er:${encodeURIComponent(PASSWORD)}`;
  server = stops.use(
    await startFanfare({
      program: join(import.meta.dir, '../hostile/name-server.fixture.ts'),
      environment: {
        NAME_SERVER: names.address,
        NODE_EXTRA_CA_CERTS: caFile,
        FANFARE_OUTGOING_PROXY: `http://${user}@localhost:${proxy.port}`,
        HTTP_PROXY: `http://127.0.0.1:${trap.port}`,
        HTTPS_PROXY: `http://127.0.0.1:${trap.port}`,
        NO_PROXY: `${NAMES.hooks},${ADDRESS}`,
      },
      app: { webhooks: urls.map((url) => ({ url, events: ['channel_occupied'] })) },
      config: {
        outgoing: { noProxy: ['nothing.example.test'] },
        push: pushSettings({
          id: INSTANCE.id,
          secretKeys: [INSTANCE.secretKey],
          apns: {
            ...KEY,
            privateKeyFile: keyFile,
            origin: `https://${NAMES.apns}:${new URL(apns.origin).port}`,
            caFile,
          },
          fcm: { serviceAccountFile: accountFile, origin: fcm.origin, caFile },
          web: { vapid, allowedHosts: [new URL(web.origin).host], caFile },
        }),
      },
    }),
  );
  await register('apns', { token: tokens.apns, bundleIdentifier: 'com.example.app' });
  await register('fcm', { token: tokens.fcm });
  await register('web', { token: btoa(JSON.stringify(web.subscribe(vapid.publicKey))) });
}, LONG_MS);

function startSecureHooks(tls: { readonly cert: string; readonly key: string }): Inbox {
  const received: string[] = [];
  const http = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    tls,
    async fetch(request) {
      received.push(`${request.headers.get('host')} ${new URL(request.url).pathname}`);
      return new Response();
    },
  });
  stops.defer(() => http.stop(true));
  return { received, port: Number(http.port) };
}

async function register(platform: string, body: object): Promise<void> {
  const target = `/device_api/v1/instances/${INSTANCE.id}/devices/${platform}`;
  const headers = { 'content-type': 'application/json' };
  const call = { method: 'POST', target, headers, body: JSON.stringify(body) };
  const { status, json } = await requestPush(server, call);
  expect({ status, json }).toMatchObject({ status: 200 });
  const id = String(json['id']);
  devices.push(id);
  await requestPush(server, requests.setInterests(id, ['news']));
}

async function publish(): Promise<string> {
  const { status, json } = await requestPush(
    server,
    requests.publish({
      interests: ['news'],
      apns: { aps: { alert: 'Hello' } },
      fcm: { notification: { title: 'Hello' } },
      web: { notification: { title: 'Hello' } },
    }),
  );
  expect({ status, json }).toMatchObject({ status: 200 });
  return String(json['publishId']);
}

async function statusOf(id: string): Promise<Readonly<Record<string, unknown>>> {
  return (await requestPush(server, requests.readPublish(id))).json;
}

/** What is known of a publish and a device, as text. */
async function explain(id: string, device: string): Promise<string> {
  const ofPublish = requests.readPublish(id);
  const target = `${ofPublish.target}/devices/${device}`;
  return JSON.stringify((await requestPush(server, { ...ofPublish, target })).json);
}

const finished = (id: string) =>
  eventually(
    () => statusOf(id),
    ({ state }) => state === 'finished',
  );

const targets = () => heads.map(({ method, target }) => `${method} ${target}`);

describe('a proxy for outgoing requests', () => {
  it(
    'carries every request to gateways, and none goes beside it',
    async () => {
      const status = await finished(await publish());
      expect(status['platforms']).toMatchObject({
        apns: { accepted: 1 },
        fcm: { accepted: 1 },
        web: { accepted: 1 },
      });
      const portOf = (origin: string) => new URL(origin).port;
      // The tunnels to FCM are those of the access token and of the message.
      expect(targets().toSorted()).toEqual(
        [
          `CONNECT ${NAMES.apns}:${portOf(apns.origin)}`,
          `CONNECT ${NAMES.fcm}:${portOf(fcm.origin)}`,
          `CONNECT ${NAMES.fcm}:${portOf(fcm.origin)}`,
          `CONNECT ${ADDRESS}:${portOf(web.origin)}`,
        ].toSorted(),
      );
      const authorization = `Basic ${Buffer.from(`us@er:${PASSWORD}`).toString('base64')}`;
      for (const { fields } of heads) expect(fields['proxy-authorization']).toBe(authorization);
    },
    LONG_MS,
  );

  it(
    'carries webhooks, whose names are checked here',
    async () => {
      heads.length = 0;
      await using client = await RawClient.connect(server);
      await client.subscribe('news');
      const { headers, path } = await hooks.requests.next();
      expect([path, headers['host']]).toEqual([
        '/hooks',
        `${NAMES.hooks}:${new URL(hooks.url).port}`,
      ]);
      expect(headers['proxy-authorization']).toBeUndefined();
      await eventually(
        () => secureHooks.received,
        (received) => received.length > 0,
      );
      expect(secureHooks.received).toEqual([`${NAMES.secureHooks}:${secureHooks.port} /hooks`]);
      await server.logged(/10\.1\.2\.3 is not a public address/);
      await server.logged(/192\.168\.1\.1 is not a public address/);
      expect(targets().toSorted()).toEqual([
        `CONNECT ${ADDRESS}:${secureHooks.port}`,
        `POST http://${ADDRESS}:${new URL(hooks.url).port}/hooks`,
      ]);
    },
    LONG_MS,
  );

  it(
    'is named where it refuses, no device is given up, and its password is shown nowhere',
    async () => {
      refusal = 'HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 6\r\n\r\nsecret';
      proxy.cut();
      for (const platform of ['apns', 'fcm', 'web']) {
        await server.logged(new RegExp(`Connection to a gateway closed.*"platform":"${platform}"`));
      }
      const id = await publish();
      const refused = `proxy localhost:${proxy.port} answered 407 Proxy Authentication Required`;
      for (const platform of ['apns', 'fcm', 'web']) {
        await server.logged(
          new RegExp(`Gateway unreachable.*"platform":"${platform}".*${refused}`),
        );
      }
      const explained = await Promise.all(
        devices.map((device) =>
          eventually(
            () => explain(id, device),
            (events) => events.includes('proxy-refused'),
          ),
        ),
      );
      for (const events of explained) expect(events).toContain(`(proxy-refused): ${refused}`);
      const { platforms } = await statusOf(id);
      const waits = { planned: 1, failed: 0, pruned: 0 };
      expect(platforms).toMatchObject({ apns: waits, fcm: waits, web: waits });

      expect(server.output.stderr).toContain(`"proxy":"localhost:${proxy.port}"`);
      const shown = server.output.stdout + server.output.stderr;
      const secrets = [PASSWORD, encodeURIComponent(PASSWORD), 'us@er', 'us%40er', 'Basic '];
      expect(secrets.filter((secret) => shown.includes(secret))).toEqual([]);
      expect(trap.targets()).toEqual([]);
    },
    LONG_MS,
  );
});

import { afterEach, describe, expect, it } from 'bun:test';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FakeApns, startFakeApns } from '../../src/fake-gateways/apns/fake-apns.ts';
import { newP256Pair } from '../../src/fake-gateways/p256.ts';
import { PushRequests, requestPush } from '../../testing/clients/push-requests.ts';
import { RawClient } from '../../testing/clients/raw-client.ts';
import { eventually } from '../../testing/eventually.ts';
import { Inbox } from '../../testing/inbox.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { type NameServer, startNameServer } from '../../testing/servers/name-server.ts';
import { pushSettings } from '../../testing/servers/push-server.ts';
import { writeSigningKey } from '../failure/push/delivery-site.ts';

/**
 * One tenant chooses names whose name servers never answer. Others have names as well: for their webhooks, and for
 * their gateways.
 */

const LONG_MS = 180_000;
const HONEST_GATEWAY = 'gateway.test';

/** Programs that ask the name server of the test. The first one waits as long as usual for it, the other one an hour. */
const USUAL = join(import.meta.dir, 'name-server.fixture.ts');
const PATIENT = join(import.meta.dir, 'patient-server.fixture.ts');

/** The webhooks of the rival of the shop. */
const deadWebhooks = ['http://one.black-hole.test/', 'http://two.black-hole.test/'];

let stops = new AsyncDisposableStack();
afterEach(async () => {
  await stops.disposeAsync();
  stops = new AsyncDisposableStack();
});

const instanceOf = (letter: string) => ({
  id: `${letter.repeat(8)}-6a52-4c1e-9b5f-3f0c6a7d2e41`,
  secretKey: letter.toUpperCase().repeat(64),
});
const attacker = instanceOf('b');
const honest = instanceOf('c');

/** An endpoint that is notified which channels were occupied. */
function endpoint() {
  const received = new Inbox<string>('the endpoint');
  const http = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { events } = (await request.json()) as { events: { channel: string }[] };
      for (const { channel } of events) received.put(channel);
      return new Response();
    },
  });
  stops.defer(() => http.stop(true));
  return { port: Number(http.port), received };
}

const appWith = (id: string, urls: readonly string[]) => ({
  id,
  name: id,
  keys: [{ key: `${id}-key`, secret: `${id}-secret` }],
  webhooks: urls.map((url) => ({ url, events: ['channel_occupied'] })),
});

interface Site {
  readonly server: Fanfare;
  readonly names: NameServer;
  readonly apns: FakeApns;
  readonly received: ReturnType<typeof endpoint>['received'];
}

/** A server that asks a name server which is silent for names below `black-hole.test`. */
async function start(
  program: string,
  rivalWebhooks: readonly string[],
  ...moreInstances: readonly object[]
): Promise<Site> {
  const names = stops.use(
    await startNameServer({
      answer(name, family) {
        if (name.endsWith('.black-hole.test')) return 'silent';
        return family === 4 ? ['127.0.0.1'] : [];
      },
      // So that each request asks anew.
      ttlSeconds: 0,
    }),
  );
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const directory = mkdtempSync(join(tmpdir(), 'fanfare-names-'));
  stops.defer(() => rmSync(directory, { recursive: true }));
  const keyFile = join(directory, 'key.p8');
  writeSigningKey(keyFile, privateKey);
  const keys = [{ teamId: 'TEAM000000', keyId: 'KEY0000000', publicKey }];
  const apns = stops.use(await startFakeApns({ certificate: null, keys, startsWithOne: true }));
  const { port } = new URL(apns.origin);
  const notified = {
    ...settingsOf(honest),
    apns: {
      teamId: 'TEAM000000',
      keyId: 'KEY0000000',
      privateKeyFile: keyFile,
      origin: `http://${HONEST_GATEWAY}:${port}`,
    },
  };
  const { port: webhookPort, received } = endpoint();
  const server = stops.use(
    await startFanfare({
      program,
      environment: { NAME_SERVER: names.address },
      moreApps: [
        appWith('shop', [`http://hooks.shop.test:${webhookPort}/`]),
        appWith('rival', rivalWebhooks),
      ],
      config: {
        webhooks: {
          allowPrivateAddresses: true,
          ...(program === PATIENT && { timeoutSeconds: 3600 }),
        },
        push: pushSettings(settingsOf(attacker), notified, ...moreInstances),
      },
    }),
  );
  return { server, names, apns, received };
}

function settingsOf({ id, secretKey }: ReturnType<typeof instanceOf>) {
  return { id, secretKeys: [secretKey], limits: { publishesPerSecond: 0 } };
}

async function connect(server: Fanfare, app: string): Promise<RawClient> {
  const path = `/app/${app}-key?protocol=7&client=js&version=8.6.0`;
  return stops.use(await RawClient.connect(server, { path }));
}

/** Occupies channels of the shop one after the other, and waits for each webhook and its line of the log. */
async function expectWebhooks(site: Site, client: RawClient): Promise<void> {
  for (let at = 0; at < 5; at++) {
    const lines = () => site.server.output.stderr.split('hooks.shop.test').length;
    const before = lines();
    await client.subscribe(`news-${at}`);
    expect(await site.received.next()).toBe(`news-${at}`);
    await until(() => lines() > before);
  }
}

/** Notifies a new device by the gateway, to which nothing was connected before. */
async function expectNotified({ server, apns }: Site): Promise<void> {
  const requests = new PushRequests(honest);
  const token = randomToken();
  const registered = await requestPush(server, {
    ...requests.registerFcm(token),
    target: requests.registerFcm(token).target.replace(/fcm$/, 'apns'),
    body: JSON.stringify({ token, bundleIdentifier: 'com.example.app' }),
  });
  const id = String(registered.json['id']);
  expect(registered.status).toBe(200);
  expect((await requestPush(server, requests.addInterest(id, 'news'))).status).toBe(200);
  const arrived = Promise.withResolvers<void>();
  apns.arrivals.listen((arrival) => {
    if (arrival.token === token) arrived.resolve();
  });
  const body = { interests: ['news'], apns: { aps: { alert: 'Hello' } } };
  expect((await requestPush(server, requests.publish(body))).status).toBe(200);
  await arrived.promise;
}

function randomToken(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('hex');
}

describe('names whose name servers never answer', () => {
  it(
    'delay no webhook, no line of the log and no gateway of others, where webhooks and 200 publishes name them',
    async () => {
      const site = await start(PATIENT, deadWebhooks);
      const client = await connect(site.server, 'shop');
      const rival = await connect(site.server, 'rival');
      for (let at = 0; at < 50; at++) await rival.subscribe(`rival-${at}`);
      await until(() => deadNames(site) === deadWebhooks.length);
      const requests = new PushRequests(attacker);
      for (let at = 0; at < 200; at++) {
        const body = {
          interests: ['nobody'],
          web: { notification: { title: 'x' } },
          webhookUrl: `http://h${at}.black-hole.test/`,
        };
        expect((await requestPush(site.server, requests.publish(body))).status).toBe(200);
      }
      await until(() => deadNames(site) >= deadWebhooks.length + 2);

      await expectWebhooks(site, client);
      await expectNotified(site);
      expect(site.server.output.stderr).not.toContain('"level":"error"');
    },
    LONG_MS,
  );

  it(
    'are looked up at most every 5 s each',
    async () => {
      const site = await start(USUAL, deadWebhooks);
      const rival = await connect(site.server, 'rival');
      const startMs = performance.now();
      for (let at = 0; at < 50; at++) await rival.subscribe(`rival-${at}`);
      await until(() => deadNames(site) === deadWebhooks.length);
      // A webhook that fails is sent again, and its name is known to fail.
      await site.server.logged(/black-hole\.test/);
      // One attempt asks a silent name server some times for each family.
      const seconds = (performance.now() - startMs) / 1_000;
      const questions = site.names.asked.filter((name) => name.endsWith('black-hole.test')).length;
      expect(questions).toBeLessThanOrEqual(2 * 8 * (1 + Math.ceil(seconds / 5)));
    },
    LONG_MS,
  );
});

describe('a push service that nobody used before', () => {
  const BROWSERS = instanceOf('e');
  const HOSTS = 8;

  /** Honest push services, each at a host of its own, on one port. */
  function honestServices() {
    const arrivals = new Inbox<string>('honest browsers');
    const http = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch(request) {
        const { hostname } = new URL(request.url);
        arrivals.put(hostname);
        return new Response(null, { status: 201 });
      },
    });
    stops.defer(() => http.stop(true));
    return { port: Number(http.port), arrivals };
  }

  async function registers(server: Fanfare, endpoint: string): Promise<void> {
    const requests = new PushRequests(BROWSERS);
    const { publicText } = newP256Pair();
    const keys = { p256dh: publicText, auth: 'BTBZMqHH6r4Tts7J_aSIgg' };
    const token = btoa(JSON.stringify({ endpoint, keys }));
    const { target } = requests.registerWeb('any');
    const body = JSON.stringify({ token });
    const registered = await requestPush(server, { ...requests.registerWeb('any'), target, body });
    expect(registered.status).toBe(200);
    const id = String(registered.json['id']);
    expect((await requestPush(server, requests.addInterest(id, 'news'))).status).toBe(200);
  }

  it(
    'is reached beside browsers at 60 others, whose name servers never answer',
    async () => {
      const { port, arrivals } = honestServices();
      const { publicText, privateText } = newP256Pair();
      const { server } = await start(PATIENT, [], {
        ...settingsOf(BROWSERS),
        web: {
          vapid: {
            publicKey: publicText,
            privateKey: privateText,
            subject: 'mailto:ops@example.org',
          },
          allowedHosts: ['*.push.test', '*.black-hole.test'],
          allowPrivateAddresses: true,
        },
      });
      const requests = new PushRequests(BROWSERS);
      for (let at = 0; at < 60; at++) {
        await registers(server, `http://h${at}.black-hole.test:${port}/x`);
      }
      for (let at = 0; at < HOSTS; at++) {
        const host = `h${at}.push.test`;
        await registers(server, `http://${host}:${port}/x`);
        const body = { interests: ['news'], web: { notification: { title: 'Hello' } } };
        expect((await requestPush(server, requests.publish(body))).status).toBe(200);
        // Those that were reached before are notified as well.
        await arrivals.first((reached) => reached === host);
      }
    },
    LONG_MS,
  );
});

/** How many different names of silent name servers were looked up. */
function deadNames({ names }: Site): number {
  return new Set(names.asked.filter((name) => name.endsWith('.black-hole.test'))).size;
}

async function until(holds: () => boolean): Promise<void> {
  await eventually(holds, (isSo) => isSo);
}

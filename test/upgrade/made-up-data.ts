import { makeSelfSigned } from '../../src/certificates/self-signed.ts';
import { StoredCertificates } from '../../src/stores/certificates/certificate-store.ts';
import { openDatabase } from '../../src/stores/database/database.ts';
import { admin } from '../../testing/clients/admin-api.ts';
import { PushConnection, PushRequests } from '../../testing/clients/push-requests.ts';
import { eventually } from '../../testing/eventually.ts';
import type { Fanfare, FanfareOptions } from '../../testing/servers/fanfare.ts';
import { TestApp } from '../../testing/servers/test-app.ts';
import type { Around } from './around.ts';

/** Made-up data of every kind that a store keeps. Fixtures of earlier releases hold the same names: add, never change. */

export const SHOP = { id: '71', key: 'shop-key', secret: 'shop-secret' } as const;

export const PHONES = {
  id: '5d0a4b7e-2f6e-4b53-9a64-0a9d3c1e7f10',
  secretKey: 'B7E4286A3F1C0D95B7E4286A3F1C0D95B7E4286A3F1C0D95B7E4286A3F1C0D95',
} as const;

/** A publish that is finished, and its body. */
export const NEWS = {
  idempotencyKey: 'news-1',
  body: {
    interests: ['news'],
    apns: { aps: { alert: 'News' } },
    fcm: { notification: { title: 'News' } },
  },
} as const;

/** The channel whose webhook waits. */
export const WAITING_CHANNEL = 'waiting';

/** How long after the dump a publish is due: before the waiting webhook is given up. */
export const SCHEDULED_MS = 60_000;
const SCHEDULED_INTEREST = 'tomorrow';

export const USER = 'ann';

/** Tokens that the fake FCM refuses for good, and for now. */
const DEAD_TOKEN = 'fcm-dead';
export const BUSY_TOKEN = 'fcm-busy';

export const CERTIFICATE_SUBJECT = 'made-up';

/** How a server is started on such a store. */
export function optionsOf(storeUrl: string): FanfareOptions {
  return {
    config: {
      store: { url: storeUrl },
      webhooks: { allowPrivateAddresses: true },
      admin: { port: 0, password: 'made-up-password' },
    },
  };
}

/** The password of `optionsOf`, for what asks the admin API. */
export function withPassword(server: Fanfare): Fanfare {
  return { ...server, adminPassword: 'made-up-password' };
}

/** Fills the store of a server as apps, backends and devices do. */
export async function fill(server: Fanfare, around: Around): Promise<void> {
  await makeTenants(server, around);
  await useChannels(server, around);
  await usePush(server, around);
}

/** Fills a store with what only a server behind the domain gets: a certificate from ACME. */
export async function addCertificate(storeUrl: string): Promise<void> {
  await using database = await openDatabase(storeUrl);
  const store = new StoredCertificates(database);
  const nowMs = Date.now();
  const plan = {
    subject: CERTIFICATE_SUBJECT,
    ordersAtMs: [nowMs],
    failures: 0,
    nextAtMs: nowMs,
    notBeforeMs: 0,
    problem: '',
  };
  const directory = 'https://authority.test/directory';
  await store.keepAccount({ directory, email: 'ops@example.org', url: `${directory}/1`, key: '' });
  const revision = await store.revision();
  await store.claim({ server: 'one', revision, nowMs, untilMs: nowMs + 1, plan });
  const made = makeSelfSigned(['chat.example.org'], nowMs);
  await store.end({ server: 'one', plan, certificate: { subject: CERTIFICATE_SUBJECT, ...made } });
}

async function makeTenants(server: Fanfare, { gateways, endpoint }: Around): Promise<void> {
  const request = async (method: string, path: string, body: object) => {
    const { status, text } = await admin(server, method, path, { body });
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
  };
  const { id, key, secret } = SHOP;
  const webhook = { url: endpoint.url, events: ['channel_occupied'], batching: false };
  await request('POST', '/apps', {
    id,
    name: 'shop',
    keys: [
      { key, secret },
      { key: 'shop-old', secret: 'shop-old-secret' },
    ],
    clientEvents: true,
    webhooks: [webhook],
    limits: { connections: 100 },
  });
  await request('POST', '/apps', { id: '72', name: 'closed' });
  await request('PATCH', '/apps/72', { enabled: false });
  const { apns, fcm } = gateways.settings;
  await request('POST', '/instances', {
    id: PHONES.id,
    name: 'phones',
    app: SHOP.id,
    secretKeys: [PHONES.secretKey],
    apns,
    fcm,
    web: { allowedHosts: ['localhost'], allowPrivateAddresses: true, caFile: apns['caFile'] },
    webhooks: [{ url: endpoint.url, events: ['v1.UserNotificationOpen'], secret: 'hook-secret' }],
  });
}

async function useChannels(server: Fanfare, { endpoint }: Around): Promise<void> {
  const app = new TestApp(server, SHOP);
  await using client = await app.connect();
  await client.subscribe('answered');
  await endpoint.events.next();
  await app.trigger({ name: 'sold', channel: 'unheard', data: '{}' });
  endpoint.answerWith(500);
  await client.subscribe(WAITING_CHANNEL);
  await endpoint.requests.first(({ body }) => body.includes(WAITING_CHANNEL));
}

async function usePush(server: Fanfare, { gateways }: Around): Promise<void> {
  const requests = new PushRequests(PHONES);
  await using connection = await PushConnection.open(server);
  const requestOk = (request: Parameters<PushConnection['requestOk']>[0]) =>
    connection.requestOk(request);
  const registers = async (
    request: Parameters<PushConnection['requestOk']>[0],
    interest: string,
  ) => {
    const { id } = await requestOk(request);
    await requestOk(requests.addInterest(String(id), interest));
    return String(id);
  };
  const registerApns = (token: string) => ({
    ...requests.registerFcm(''),
    target: `/device_api/v1/instances/${PHONES.id}/devices/apns`,
    body: JSON.stringify({ token, bundleIdentifier: 'com.example.shop' }),
  });
  const finished = async (publishId: unknown) => {
    await eventually(
      () => requestOk(requests.readPublish(String(publishId))),
      ({ state }) => state === 'finished',
    );
    return String(publishId);
  };
  const script = async (act: object) => {
    await fetch(`${gateways.controlUrl}/script`, { method: 'POST', body: JSON.stringify(act) });
  };

  const phones = [
    await registers(registerApns('ab'.repeat(32)), 'news'),
    await registers(registerApns('cd'.repeat(32)), 'news'),
    await registers(requests.registerFcm('fcm-one'), 'news'),
    await registers(requests.registerFcm(DEAD_TOKEN), 'news'),
  ];
  const [mine = '', other = ''] = phones;
  await requestOk(requests.setUser(mine, USER));
  await requestOk(requests.addInterest(mine, SCHEDULED_INTEREST));
  await requestOk(requests.addInterest(other, SCHEDULED_INTEREST));
  await registers(requests.registerWeb('browser'), 'browsers');

  const dead = { status: 404, error: 'UNREGISTERED' };
  await script({ gateway: 'fcm', to: DEAD_TOKEN, act: 'answer', ...dead });
  const { idempotencyKey, body } = NEWS;
  const news = await requestOk(requests.publish(body, { idempotencyKey }));
  const publishId = await finished(news['publishId']);
  const timestampSecs = Math.floor(Date.now() / 1000);
  for (const event of ['delivery', 'open']) {
    await requestOk(requests.report({ event, publishId, deviceId: mine, timestampSecs }));
  }
  const { interests: _, ...payloads } = NEWS.body;
  const toUser = await requestOk(requests.publish({ ...payloads, users: [USER] }));
  await finished(toUser['publishId']);
  // The user has no connection, so the device is notified.
  const live = { event: 'note', data: { text: 'Hello' }, waitSeconds: 1 };
  const first = await requestOk(requests.publish({ ...payloads, users: [USER], live }));
  await finished(first['publishId']);

  const sendAt = new Date(Date.now() + SCHEDULED_MS).toISOString();
  const later = { ...NEWS.body, interests: [SCHEDULED_INTEREST], sendAt };
  await requestOk(requests.publish(later));
  await requestOk(requests.publish({ ...payloads, users: [USER], live, sendAt }));
  const cancelled = await requestOk(requests.publish({ ...later, interests: ['news'] }));
  const reading = requests.readPublish(String(cancelled['publishId']));
  await requestOk({ ...reading, method: 'DELETE' });

  const busy = { status: 503, error: 'UNAVAILABLE' };
  await script({ gateway: 'fcm', to: BUSY_TOKEN, act: 'answer', ...busy });
  await registers(requests.registerFcm(BUSY_TOKEN), 'busy');
  const retried = await requestOk(requests.publish({ ...NEWS.body, interests: ['busy'] }));
  await eventually(
    () => requestOk(requests.readPublish(String(retried['publishId']))),
    ({ platforms }) => (platforms as { fcm: { retrying: number } }).fcm.retrying === 1,
  );
}

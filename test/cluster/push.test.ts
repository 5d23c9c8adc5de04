import { afterAll, afterEach, beforeAll, describe, expect, it } from 'bun:test';
import { SQL } from 'bun';
import { admin } from '../../testing/clients/admin-api.ts';
import { requestPush } from '../../testing/clients/push-requests.ts';
import { type ThrowAwayDatabase, throwAwayPostgres } from '../../testing/databases/postgres.ts';
import { eventually } from '../../testing/eventually.ts';
import type { Fanfare } from '../../testing/servers/fanfare.ts';
import { startWebhookEndpoint } from '../../testing/servers/webhook-endpoint.ts';
import {
  allAccepted,
  DeliverySite,
  newsFor,
  type SiteInstance,
  timesOf,
} from '../failure/push/delivery-site.ts';

const DEVICES = 2_000;

/** Publishes that have more devices together than two servers take into their memory. */
const TOO_MANY = 14;

/** Longer than a test keeps gateways from answering, and shorter than servers wait. */
const LATENCY_MS = 10_000;

let store: ThrowAwayDatabase;
let site: DeliverySite;
let instance: SiteInstance;
let one: Fanfare;
let two: Fanfare;
beforeAll(async () => {
  store = await throwAwayPostgres();
  site = await DeliverySite.start({
    crowds: [{ apns: DEVICES }],
    areTrusted: true,
    storeUrl: store.url,
    config: { webhooks: { allowPrivateAddresses: true } },
  });
  instance = site.instance(0);
  one = site.server;
  two = await site.another();
}, 180_000);
afterEach(() => {
  site.apns.script.clear();
  site.apns.arrivals.clear();
});
afterAll(async () => {
  await site[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

/** Publishes at a server, and returns the id. */
async function publishAt(server: Fanfare, body: object): Promise<string> {
  const { status, json } = await requestPush(server, instance.requests.publish(body));
  expect(status).toBe(200);
  return String(json['publishId']);
}

/** Cancels a publish at a server, and returns its status. */
async function cancelledAt(server: Fanfare, publishId: string): Promise<object> {
  const request = { ...instance.requests.readPublish(publishId), method: 'DELETE' };
  const { status, json } = await requestPush(server, request);
  expect(status).toBe(200);
  return json;
}

/** How many devices a server has reached. */
async function reachedBy(server: Fanfare): Promise<number> {
  const { text } = await admin(server, 'GET', '//metrics');
  const found = /^fanfare_push_deliveries_total\{outcome="accepted"\} (\d+)$/m.exec(text);
  return Number(found?.[1]);
}

/** How often each device got a publish. */
function arrivalsOf(publishId: string): ReadonlyMap<string, number> {
  const ofPublish = site.apns.arrivals
    .list()
    .filter(({ fields }) => fields['apns-collapse-id'] === publishId);
  return timesOf(ofPublish.map(({ token }) => token));
}

async function reachesEachOnce(publishId: string): Promise<void> {
  const { platforms } = await site.finished(instance, publishId);
  expect(platforms.apns).toEqual(allAccepted(instance.devices.apns));
  const times = arrivalsOf(publishId);
  expect(times.size).toBe(DEVICES);
  expect([...times.values()].filter((count) => count !== 1)).toEqual([]);
}

describe('two servers on one PostgreSQL', () => {
  it('both deliver what one of them accepted, to each device once', async () => {
    // More than one server takes into its memory, and slow enough for the other one to look for work.
    site.apns.script.latencyMs = 2_000;
    const ids: string[] = [];
    for (let n = 0; n < 4; n++) ids.push(await publishAt(two, newsFor('apns')));
    await eventually(
      () => reachedBy(one),
      (devices) => devices > 0,
    );
    site.apns.script.latencyMs = 0;
    for (const id of ids) await reachesEachOnce(id);
    const reached = [await reachedBy(one), await reachedBy(two)];
    expect(reached[1]).toBeGreaterThan(0);
    expect(reached[0]).toBe(ids.length * DEVICES - (reached[1] ?? 0));
  });

  it('deliver on time what a third one accepted that is gone by then', async () => {
    await using third = await site.another();
    const sendAt = new Date(Date.now() + 3_000).toISOString();
    const id = await publishAt(third, { ...newsFor('apns'), sendAt });
    await third.stop('SIGKILL');
    expect(site.apns.arrivals.count).toBe(0);
    await reachesEachOnce(id);
  });

  it('cancel for each other what is scheduled', async () => {
    const sendAt = new Date(Date.now() + 3_600_000).toISOString();
    const id = await publishAt(one, { ...newsFor('apns'), sendAt });
    expect(await cancelledAt(two, id)).toMatchObject({ state: 'cancelled' });
    expect(await site.status(instance, id)).toMatchObject({ state: 'cancelled' });
  });

  it('cancel for each other what is being delivered: devices that were not reached yet never are', async () => {
    const { script } = site.apns;
    script.latencyMs = LATENCY_MS;
    const ids: string[] = [];
    for (let n = 0; n < TOO_MANY; n++) ids.push(await publishAt(one, newsFor('apns')));
    const last = ids.pop() ?? '';
    await site.becomes(instance, last, ({ platforms: { apns } }) => apns.planned === DEVICES);
    await cancelledAt(two, last);
    script.answerNow();
    for (const id of ids) await reachesEachOnce(id);
    const { platforms } = await site.becomes(
      instance,
      last,
      ({ platforms: { apns } }) => apns.accepted + apns.cancelled === DEVICES,
    );
    const times = arrivalsOf(last);
    expect(platforms.apns.cancelled).toBeGreaterThan(0);
    expect(platforms.apns.accepted).toBe(times.size);
    expect([...times.values()].filter((count) => count !== 1)).toEqual([]);
  });

  it('report the start and the end of each publish, and its users, once', async () => {
    using endpoint = startWebhookEndpoint();
    const ids: string[] = [];
    for (const server of [one, two, one, two, one, two]) {
      // There are no browsers, so nothing has to be sent.
      const body = { ...newsFor('web'), webhookUrl: endpoint.url };
      ids.push(await publishAt(server, body));
    }
    const received: string[] = [];
    while (received.length < 2 * ids.length) {
      const { publishId, status } = JSON.parse((await endpoint.requests.next()).body);
      received.push(`${publishId} ${status}`);
    }
    const wanted = ids.flatMap((id) => [`${id} STARTED`, `${id} FINISHED`]);
    expect(received.toSorted()).toEqual(wanted.toSorted());
    await using sql = new SQL(store.url, { max: 1 });
    await eventually(
      () => sql`SELECT 1 FROM untold_ends`,
      (rows: readonly unknown[]) => rows.length === 0,
    );
    const sent: unknown[] = await sql`SELECT 1 FROM outbox_requests`;
    expect(sent).toHaveLength(wanted.length);
  });
});

import { afterAll, beforeAll, expect, it } from 'bun:test';
import { eventually } from '../../testing/eventually.ts';
import type { AppClient, TestApp } from '../../testing/servers/test-app.ts';
import {
  startWebhookEndpoint,
  type WebhookEndpoint,
} from '../../testing/servers/webhook-endpoint.ts';
import { type Cluster, startCluster } from './cluster.ts';

/** Who is online at two real servers, of which one is killed in the last test. */

let backend: WebhookEndpoint;
let cluster: Cluster;
let apps: readonly [TestApp, TestApp];

beforeAll(async () => {
  backend = startWebhookEndpoint();
  const events = ['user_online', 'user_offline'];
  const webhooks = [{ url: backend.url, events, batching: true }];
  cluster = await startCluster(2, { threads: 2, app: { webhooks } });
  apps = cluster.apps as unknown as readonly [TestApp, TestApp];
});

afterAll(async () => {
  await cluster[Symbol.asyncDispose]();
  backend[Symbol.dispose]();
});

async function signedIn(app: TestApp, id: string): Promise<AppClient> {
  const client = await app.connect();
  client.send(app.signIn(client, { id }));
  expect((await client.receive()).event).toBe('pusher:signin_success');
  return client;
}

interface Status {
  readonly id: string;
  readonly online: boolean;
  readonly since_ms: number | null;
  readonly last_seen_ms: number | null;
}

async function statuses(app: TestApp, ids: readonly string[]): Promise<readonly Status[]> {
  const answer = await app.post('/users/status', { user_ids: ids });
  expect(answer.status).toBe(200);
  return JSON.parse(await answer.text()).users;
}

async function statusOf(app: TestApp, id: string): Promise<Status> {
  const [status] = await statuses(app, [id]);
  if (status === undefined) throw new Error('There is no status');
  return status;
}

const SECOND_MS = 1000;
const online = (user: string) => ({ name: 'user_online', user_id: user });

it('three tabs at two servers and a reload are one user, who is told once as online and once as offline', async () => {
  const [one, two] = apps;
  const cameMs = Date.now();
  const tabs = [await signedIn(one, 'ann'), await signedIn(two, 'ann'), await signedIn(two, 'ann')];
  expect<object>(await backend.events.next()).toEqual(online('ann'));
  const { since_ms: sinceMs } = await statusOf(two, 'ann');
  expect(sinceMs).toBeWithin(cameMs - SECOND_MS, Date.now() + SECOND_MS);
  for (const tab of tabs) await tab[Symbol.asyncDispose]();
  const reloaded = await signedIn(two, 'ann');
  for (const app of apps) {
    expect(await statusOf(app, 'ann')).toEqual({
      ...{ id: 'ann', online: true },
      ...{ since_ms: sinceMs, last_seen_ms: null },
    });
  }
  const leftMs = Date.now();
  await reloaded[Symbol.asyncDispose]();
  const offline = await backend.events.next();
  expect(offline).toMatchObject({ name: 'user_offline', user_id: 'ann' });
  expect(offline['last_seen_ms']).toBeWithin(leftMs - SECOND_MS, leftMs + 5 * SECOND_MS);
  for (const app of apps) {
    expect(await statusOf(app, 'ann')).toMatchObject({
      ...{ online: false, since_ms: null },
      last_seen_ms: offline['last_seen_ms'],
    });
  }
});

it('one question finds 1,000 users, in the order asked', async () => {
  const [one, two] = apps;
  const ids = Array.from({ length: 1000 }, (_, n) => `user-${n}`);
  const here = ids.filter((_, n) => n % 100 === 7);
  const clients = await Promise.all(here.map((id, n) => signedIn(n % 2 === 0 ? one : two, id)));
  for (const app of apps) {
    const found = await statuses(app, ids);
    expect(found.map(({ id }) => id)).toEqual(ids);
    expect(found.filter(({ online: isOnline }) => isOnline).map(({ id }) => id)).toEqual(here);
  }
  for (const client of clients) await client[Symbol.asyncDispose]();
  const told: string[] = [];
  for (let n = 0; n < 2 * here.length; n++) {
    const { name, user_id: user } = await backend.events.next();
    told.push(`${name} ${user}`);
  }
  expect(told.toSorted()).toEqual(
    here.flatMap((id) => [`user_offline ${id}`, `user_online ${id}`]).toSorted(),
  );
});

it('a server that is killed takes offline once who is not back elsewhere', async () => {
  const [one, two] = apps;
  const cameMs = Date.now();
  await using _stays = await signedIn(one, 'bob');
  for (const id of ['bob', 'eve', 'zoe']) await signedIn(two, id);
  const names: string[] = [];
  for (let n = 0; n < 3; n++) names.push(String((await backend.events.next())['user_id']));
  expect(names.toSorted()).toEqual(['bob', 'eve', 'zoe']);
  const killedMs = Date.now();
  cluster.servers[1]?.process.kill('SIGKILL');
  await using _back = await signedIn(one, 'eve');
  const offline = await backend.events.next();
  expect(offline).toMatchObject({ name: 'user_offline', user_id: 'zoe' });
  expect(offline['last_seen_ms']).toBeWithin(killedMs - 4 * SECOND_MS, killedMs + 4 * SECOND_MS);
  const [bob, eve, zoe] = await eventually(
    () => statuses(one, ['bob', 'eve', 'zoe']),
    (all) => all.filter(({ online: isOnline }) => isOnline).length === 2,
  );
  for (const status of [bob, eve]) {
    expect(status?.since_ms).toBeWithin(cameMs - SECOND_MS, killedMs + SECOND_MS);
  }
  expect(zoe?.last_seen_ms).toBe(Number(offline['last_seen_ms']));
  // Nothing else was told: this comes next.
  await using _last = await signedIn(one, 'last');
  expect<object>(await backend.events.next()).toEqual(online('last'));
}, 60_000);

import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { SQL } from 'bun';
import { admin } from '../../testing/clients/admin-api.ts';
import { eventually } from '../../testing/eventually.ts';
import type { Fanfare } from '../../testing/servers/fanfare.ts';
import { newApp, TestApp } from '../../testing/servers/test-app.ts';
import { startWebhookEndpoint } from '../../testing/servers/webhook-endpoint.ts';
import { fanfare } from '../cli/run-fanfare.ts';
import { type Cluster, enters, startCluster, usersAt } from './cluster.ts';

let cluster: Cluster;
let one: Fanfare;
let two: Fanfare;
beforeAll(async () => {
  cluster = await startCluster(2);
  [one, two] = cluster.servers as [Fanfare, Fanfare];
}, 180_000);
afterAll(() => cluster[Symbol.asyncDispose]());

/** Asks the admin API of the first server, and fails unless it agrees. */
async function changes(method: string, path: string, body?: object): Promise<unknown> {
  const { status, json, text } = await admin(one, method, path, { body });
  if (status >= 300) throw new Error(`${status} ${text}`);
  return json;
}

/** Settles when a request of the backend gets this status. */
function answers(app: TestApp, status: number): Promise<unknown> {
  const ask = async () => (await app.api('GET', '/channels')).status;
  return eventually(ask, (found) => found === status);
}

/** Makes an app at the first server, and returns it as the second one serves it. */
async function madeAtTheOther(settings: object = {}): Promise<TestApp> {
  const app = new TestApp(two, await newApp(one, settings));
  await answers(app, 200);
  return app;
}

/** How many webhooks a server has delivered. */
async function deliveredBy(server: Fanfare): Promise<number> {
  const { text } = await admin(server, 'GET', '//metrics');
  return Number(/^fanfare_webhook_attempts_total\{outcome="delivered"\} (\d+)$/m.exec(text)?.[1]);
}

it('two servers send the webhooks of both, each once', async () => {
  using backend = startWebhookEndpoint();
  const webhook = { url: backend.url, events: ['channel_occupied'], batching: false };
  const there = await madeAtTheOther({ webhooks: [webhook] });
  const before = await Promise.all(cluster.servers.map(deliveredBy));
  const clients = await Promise.all([new TestApp(one, there).connect(), there.connect()]);
  const channels: string[] = [];
  for (let n = 0; n < 30; n++) {
    for (const [place, client] of clients.entries()) {
      channels.push(`channel-${place}-${n}`);
      await client.subscribe(`channel-${place}-${n}`);
    }
  }
  const received: string[] = [];
  while (received.length < channels.length) received.push((await backend.events.next()).channel);
  expect(received.toSorted()).toEqual(channels.toSorted());
  await using sql = new SQL(cluster.store.url, { max: 1 });
  const rows: readonly object[] = await eventually(
    () => sql`SELECT state, attempts FROM outbox_requests
      WHERE owner_id = ${there.id} AND finished_at IS NOT NULL`,
    ({ length }: readonly object[]) => length >= channels.length,
  );
  expect(rows).toEqual(channels.map(() => ({ state: 'delivered', attempts: 1 })));
  const after = await Promise.all(cluster.servers.map(deliveredBy));
  const delivered = after.map((count, place) => count - (before[place] ?? 0));
  expect(Math.min(...delivered)).toBeGreaterThan(0);
  expect(delivered.reduce((a, b) => a + b)).toBe(channels.length);
  for (const client of clients) await client[Symbol.asyncDispose]();
});

describe('a server serves what was changed at another one:', () => {
  it('a new app, and its settings and webhooks', async () => {
    using backend = startWebhookEndpoint();
    const app = await madeAtTheOther();
    await using client = await app.connect();
    const channel = 'private-room';
    await client.subscribe(channel, app.auth(client, channel));
    await new TestApp(one, app).trigger({ name: 'e', channel, data: 'x' });
    expect(await client.receive()).toEqual({ event: 'e', channel, data: 'x' });

    const webhook = { url: backend.url, events: ['client_event'], batching: false };
    await changes('PATCH', `/apps/${app.id}`, { clientEvents: true, webhooks: [webhook] });
    await eventually(
      async () => {
        client.send({ event: 'client-wave', channel, data: {} });
        await client.serverSettled();
        return backend.asked();
      },
      (asked) => asked > 0,
    );
    expect(await backend.events.next()).toMatchObject({ name: 'client_event', channel });
  });

  it('limits', async () => {
    const app = await madeAtTheOther();
    await changes('PATCH', `/apps/${app.id}`, { limits: { queriesPerSecond: 1 } });
    await answers(app, 429);
  });

  it('keys, by the command line', async () => {
    const app = await madeAtTheOther();
    const run = async (...args: string[]) => {
      const { exitCode, stdout } = await fanfare(one.directory, [
        'apps',
        ...args,
        '--json',
        '--config',
        'config.json',
      ]);
      expect(exitCode).toBe(0);
      return JSON.parse(stdout) as { keys: { key: string; secret: string }[] };
    };
    const { keys } = await run('rotate', app.id);
    const added = keys.find(({ key }) => key !== app.key) ?? { key: '', secret: '' };
    await answers(new TestApp(two, { id: app.id, ...added }), 200);
    await answers(app, 200);
    await run('rotate', app.id, '--remove', app.key);
    await answers(app, 401);
    await using _ = await new TestApp(two, { id: app.id, ...added }).connect();
  });

  it('that an app is disabled, enabled again, and deleted: its clients are closed with 4003', async () => {
    const app = await madeAtTheOther();
    const first = await app.connect();
    await changes('POST', `/apps/${app.id}/disable`);
    expect(await first.closed).toMatchObject({ code: 4003 });
    await answers(app, 403);
    await changes('POST', `/apps/${app.id}/enable`);
    await answers(app, 200);
    const second = await app.connect();
    await changes('DELETE', `/apps/${app.id}`);
    expect(await second.closed).toMatchObject({ code: 4003 });
    await answers(app, 401);
  });

  it('that an app with members at both is gone: made again, it begins without a trace of them', async () => {
    const there = await madeAtTheOther();
    const here = new TestApp(one, there);
    const clients = await Promise.all([here.connect(), there.connect()]);
    for (const [n, client] of clients.entries()) await enters(here, client, `user-${n}`);
    await changes('DELETE', `/apps/${here.id}`);
    for (const client of clients) expect(await client.closed).toMatchObject({ code: 4003 });
    const { id, key, secret } = here;
    await changes('POST', '/apps', { id, keys: [{ key, secret }] });
    await answers(there, 200);
    await eventually(
      () => usersAt(there),
      (users) => users.length === 0,
    );
    await using client = await there.connect();
    await enters(there, client, 'new');
    expect(await usersAt(here)).toEqual(['new']);
  });
});

it('reports the usage of an hour of both, once the other has written it', async () => {
  const there = await madeAtTheOther();
  const here = new TestApp(one, there);
  const event = { name: 'e', channel: 'a', data: 'x' };
  await here.trigger(event);
  await there.trigger(event);
  await there.trigger(event);
  // A server writes each minute, and when it stops.
  await two.stop();
  const usageBy = async (unit: string) => {
    const answer = await changes('GET', `/apps/${here.id}/usage?unit=${unit}`);
    return (answer as { usage: readonly { messages: number; connections?: object }[] }).usage;
  };
  const sum = (usage: Awaited<ReturnType<typeof usageBy>>) =>
    usage.reduce((total, { messages }) => total + messages, 0);
  const hours = await usageBy('hour');
  expect(sum(hours)).toBeGreaterThanOrEqual(3);
  // The messages of the day are written at once.
  await eventually(
    async () => sum(await usageBy('day')),
    (total) => total === sum(hours),
  );
  expect(hours[0]?.connections).toEqual({ most: 0, fewest: 0, average: 0 });
});

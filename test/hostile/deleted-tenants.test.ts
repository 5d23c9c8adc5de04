import { afterAll, beforeAll, expect, it } from 'bun:test';
import { admin, everyServerTakes, webhooksOf } from '../../testing/clients/admin-api.ts';
import { eventually } from '../../testing/eventually.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { newApp, type TestApp } from '../../testing/servers/test-app.ts';
import { startWebhookEndpoint } from '../../testing/servers/webhook-endpoint.ts';
import { registered } from '../protocol/push/exchange.ts';

/** A tenant uses the id of one that was deleted, or what that one has left. */

const INSTANCE = '6f1b0f5e-6c1c-4c6c-9d8e-1f0e5a6f7b8c';

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare({
    threads: 2,
    config: { webhooks: { allowPrivateAddresses: true } },
  });
});
afterAll(() => server[Symbol.asyncDispose]());

const show = async (path: string) => (await admin(server, 'GET', path)).json as object;

/** Deletes an app; settles when no server serves it any more. */
async function deleteApp(id: string): Promise<void> {
  const { status, text } = await admin(server, 'DELETE', `/apps/${id}`);
  expect([status, text]).toEqual([200, expect.any(String)]);
  for (const node of server.nodes) {
    const served = async () =>
      ((await admin(node, 'GET', '/live')).json as { apps: { id: string }[] }).apps;
    await eventually(served, (apps) => !apps.some((app) => app.id === id));
  }
}

/** All that the admin API shows of an app, and what its clients would get. */
async function leftOf(app: TestApp) {
  const of = `/apps/${app.id}`;
  const used = async (unit: string) => {
    const { usage } = (await show(`${of}/usage?unit=${unit}`)) as { usage: { messages: number }[] };
    return usage.reduce((total, { messages }) => total + messages, 0);
  };
  const { apps } = (await show('/live')) as { apps: { id: string; messagesToday: number }[] };
  const { problems } = (await show(`${of}/problems`)) as { problems: object[] };
  const { webhooks } = (await show(`/webhooks?app=${app.id}`)) as { webhooks: object[] };
  const endpoints = (await show(`/webhook-endpoints?app=${app.id}`)) as { endpoints: object[] };
  const channel = (await show(`${of}/channels/cache-news`)) as { cached: object | null };
  const history = (await show(`${of}/channels/kept/history`)) as { events: object[] };
  return {
    days: await used('day'),
    hours: await used('hour'),
    live: apps.find(({ id }) => id === app.id)?.messagesToday,
    problems: problems.length,
    webhooks: webhooks.length,
    endpoints: endpoints.endpoints.length,
    cached: channel.cached !== null,
    history: history.events.length,
  };
}

it('the next app with the id of a deleted one gets nothing of it', async () => {
  using endpoint = startWebhookEndpoint();
  const settings = {
    id: 'reused',
    history: [{ channels: 'kept' }],
    limits: { messagesPerDay: 1_000 },
    webhooks: [{ url: endpoint.url, events: ['channel_occupied'] }],
  };
  const first = await newApp(server, settings);
  const instance = { id: INSTANCE, app: first.id };
  expect((await admin(server, 'POST', '/instances', { body: instance })).status).toBe(201);
  await using client = await first.connect();
  await client.subscribe('occupied');
  await first.trigger({ name: 'secret', channel: 'cache-news', data: 'of the first' });
  await first.trigger({ name: 'secret', channel: 'kept', data: 'of the first' });
  const once = { name: 'n', channel: 'once', data: '1', idempotency_key: 'key' };
  await first.trigger(once);
  await admin(server, 'POST', `/apps/${first.id}/check-auth`, { body: {} });
  client.send({
    event: 'pusher:subscribe',
    data: { channel: 'private-a', auth: `${first.key}:x` },
  });
  await webhooksOf(server, `app=${first.id}&state=delivered`, 1);
  await eventually(
    () => leftOf(first),
    (left) => Object.values(left).every(Boolean),
  );

  await deleteApp(first.id);
  await client.closed;
  const { webhooks: _, ...others } = settings;
  const second = await newApp(server, others);
  expect(second.secret).not.toBe(first.secret);
  expect(await leftOf(second)).toEqual({
    days: 0,
    hours: 0,
    live: 0,
    problems: 0,
    webhooks: 0,
    endpoints: 0,
    cached: false,
    history: 0,
  });
  // The backend of the instance can no longer send events in it.
  expect(await show(`/instances/${INSTANCE}`)).not.toHaveProperty('app');
  await using reader = await second.connect();
  await reader.subscribe('once');
  await second.trigger(once);
  expect(await reader.receive()).toMatchObject({ event: 'n', channel: 'once' });
  await reader.subscribe('cache-news');
  expect(await reader.receive()).toMatchObject({ event: 'pusher:cache_miss' });
  expect((await admin(server, 'DELETE', `/instances/${INSTANCE}`)).status).toBe(200);
});

it('the next app with the id gets nothing even if it follows at once', async () => {
  const settings = { id: 'quickly', history: [{ channels: 'kept' }] };
  const first = await newApp(server, settings);
  await using client = await first.connect();
  await first.trigger({ name: 'secret', channel: 'cache-news', data: 'of the first' });
  await first.trigger({ name: 'secret', channel: 'kept', data: 'of the first' });
  const path = `/apps/${first.id}`;
  const [deleted, created] = await Promise.all([
    admin(server, 'DELETE', path),
    admin(server, 'POST', '/apps', { body: settings }),
  ]);
  expect([deleted.status, created.status]).toEqual([200, 201]);
  await everyServerTakes(server, path);
  await client.closed;
  const left = () =>
    Promise.all([show(`${path}/channels/cache-news`), show(`${path}/channels/kept/history`)]);
  await eventually(left, ([channel, history]) => {
    const { cached } = channel as { cached: object | null };
    return cached === null && (history as { events: object[] }).events.length === 0;
  });
});

it('the next instance with the id of a deleted one gets nothing of it', async () => {
  const path = `/instances/${INSTANCE}`;
  const make = () => admin(server, 'POST', '/instances', { body: { id: INSTANCE } });
  expect((await make()).status).toBe(201);
  await everyServerTakes(server, path);
  const app = await newApp(server, {
    pushRules: [
      { channels: 'alerts', events: ['new'], instance: INSTANCE, interest: 'alerts', web: {} },
      { channels: 'news', events: ['new'], instance: INSTANCE, interest: 'news', web: {} },
    ],
  });
  const device = await registered({ pushPort: server.pushPort, id: INSTANCE });
  expect((await admin(server, 'GET', `${path}/devices/${device}`)).status).toBe(200);

  expect((await admin(server, 'DELETE', path)).status).toBe(200);
  expect(await show(`/apps/${app.id}`)).toMatchObject({ pushRules: [] });
  expect((await make()).status).toBe(201);
  await everyServerTakes(server, path);
  expect((await admin(server, 'GET', `${path}/devices/${device}`)).status).toBe(404);
  expect(await show(`${path}/devices`)).toMatchObject({ devices: [] });
  expect(await show(`${path}/publishes`)).toMatchObject({ publishes: [] });
  expect(await show(`/webhooks?instance=${INSTANCE}`)).toMatchObject({ webhooks: [] });
});

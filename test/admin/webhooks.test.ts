import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { admin, makeApp, webhooksOf } from '../../testing/clients/admin-api.ts';
import { pathOf, RawClient } from '../../testing/clients/raw-client.ts';
import { hmac } from '../../testing/clients/sign.ts';
import { eventually } from '../../testing/eventually.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { startWebhookEndpoint } from '../../testing/servers/webhook-endpoint.ts';

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare({ config: { webhooks: { allowPrivateAddresses: true } } });
});
afterAll(() => server[Symbol.asyncDispose]());

/** What the list of who did what says of an operation, the newest first. */
async function audited(operation: string) {
  const { json } = await admin(server, 'GET', '/audit');
  const { entries } = json as {
    entries: { operation: string; subject: string | null; status: number }[];
  };
  return entries
    .filter((entry) => entry.operation === operation)
    .map(({ subject, status }) => ({ subject, status }));
}

describe('the webhook log of the admin API', () => {
  it('shows a request with its answer, and replays it', async () => {
    using endpoint = startWebhookEndpoint();
    const app = await makeApp(server, { webhooks: [endpoint.webhook] });
    await using client = await RawClient.connect(server, { path: pathOf(7, app.key) });
    await client.subscribe('a');
    const [webhook] = await webhooksOf(server, `app=${app.id}&state=delivered`, 1);
    const id = webhook?.id ?? '';
    const { status, json } = await admin(server, 'GET', `/webhooks/${id}`);
    expect(status).toBe(200);
    expect(json).toMatchObject({
      id,
      app: app.id,
      state: 'delivered',
      reason: 'HTTP 200',
      url: endpoint.url,
      events: 'channel_occupied',
      body: endpoint.bodies[0],
      nextAttemptAt: null,
      finishedAt: expect.stringMatching(/^20.*Z$/),
      attemptLog: [{ number: 1, outcome: 'delivered', status: 200, answer: 'an answer' }],
    });
    expect(JSON.parse(endpoint.bodies[0] ?? '').events).toEqual([
      { name: 'channel_occupied', channel: 'a' },
    ]);

    expect(await admin(server, 'POST', `/webhooks/${id}/replay`)).toMatchObject({
      status: 202,
      json: { id, state: 'waiting' },
    });
    await webhooksOf(server, `app=${app.id}&state=waiting`, 0);
    expect(endpoint.bodies).toEqual([endpoint.bodies[0] ?? '', endpoint.bodies[0] ?? '']);
    expect((await admin(server, 'GET', `/webhooks/${id}`)).json).toMatchObject({
      attempts: 2,
      attemptLog: [{ number: 1 }, { number: 2 }],
    });
  });

  it('replays neither a waiting request nor an unknown one', async () => {
    using endpoint = startWebhookEndpoint();
    endpoint.answerWith(500);
    const app = await makeApp(server, { webhooks: [endpoint.webhook] });
    await using client = await RawClient.connect(server, { path: pathOf(7, app.key) });
    await client.subscribe('a');
    const [webhook] = await webhooksOf(server, `app=${app.id}&state=waiting`, 1);
    expect(await admin(server, 'POST', `/webhooks/${webhook?.id}/replay`)).toMatchObject({
      status: 409,
      json: { error: expect.stringContaining('still waiting') },
    });
    expect((await admin(server, 'POST', '/webhooks/unknown/replay')).status).toBe(404);
    expect((await admin(server, 'GET', '/webhooks/unknown')).status).toBe(404);
    expect((await audited('replayWebhook')).slice(0, 2)).toEqual([
      { subject: null, status: 404 },
      { subject: webhook?.id ?? '', status: 409 },
    ]);
  });

  it('names the webhooks of a replay in the list of who did what, also of one that is refused', async () => {
    const app = await makeApp(server);
    const { id: instance } = (await admin(server, 'POST', '/instances', { body: {} })).json as {
      id: string;
    };
    for (const body of [
      { app: app.id },
      { instance },
      { app: app.id, limit: 0 },
      { instance, limit: 0 },
      { app: 'made-up', limit: 0 },
    ]) {
      await admin(server, 'POST', '/webhook-replays', { body });
    }
    expect((await audited('replayWebhooks')).slice(0, 5)).toEqual([
      { subject: null, status: 400 },
      { subject: instance, status: 400 },
      { subject: app.id, status: 400 },
      { subject: instance, status: 202 },
      { subject: app.id, status: 202 },
    ]);
  });

  it('lists the newest first, page by page', async () => {
    using endpoint = startWebhookEndpoint();
    const webhook = { ...endpoint.webhook, batching: false };
    const app = await makeApp(server, { webhooks: [webhook] });
    await using client = await RawClient.connect(server, { path: pathOf(7, app.key) });
    for (const name of ['a', 'b', 'c', 'd', 'e']) await client.subscribe(name);
    const all = await webhooksOf(server, `app=${app.id}&state=delivered`, 5);
    const ids = all.map(({ id }) => id);
    expect(ids).toEqual(ids.toSorted().toReversed());
    const paged: string[] = [];
    let next: string | null = '';
    for (let page = 0; next !== null; page++) {
      expect(page).toBeLessThan(4);
      const before = next === '' ? '' : `&before=${next}`;
      const answer = await admin(server, 'GET', `/webhooks?app=${app.id}&limit=2${before}`);
      const listed = answer.json as { webhooks: { id: string }[]; next: string | null };
      paged.push(...listed.webhooks.map(({ id }) => id));
      next = listed.next;
    }
    expect(paged).toEqual(ids);
    expect(await webhooksOf(server, 'app=nobody', 0)).toEqual([]);
  });
});

describe('the webhook addresses of the admin API', () => {
  interface Endpoint {
    readonly url: string;
    readonly lastStatus: number | null;
    readonly failed: number;
    readonly failingSinceMs: number | null;
    readonly waiting: number;
  }

  /** Of all servers: each knows what it has sent itself. */
  async function endpointsOf(app: string): Promise<readonly Endpoint[]> {
    const path = `/webhook-endpoints?app=${app}`;
    const answers = server.nodes.map(async (node) => (await admin(node, 'GET', path)).json);
    return (await Promise.all(answers)).flatMap(
      (json) => (json as { endpoints: readonly Endpoint[] }).endpoints,
    );
  }

  it('show how an address answers, and what waits for it', async () => {
    using endpoint = startWebhookEndpoint();
    endpoint.answerWith(503);
    const url = `${endpoint.url}?token=geheim`;
    const app = await makeApp(server, { webhooks: [{ ...endpoint.webhook, url }] });
    await using client = await RawClient.connect(server, { path: pathOf(7, app.key) });
    await client.subscribe('a');
    const [found] = await eventually(
      () => endpointsOf(app.id),
      (all) => all[0]?.waiting === 1,
    );
    expect(found).toMatchObject({
      url: `${endpoint.url}?token=***`,
      lastStatus: 503,
      waiting: 1,
    });
    expect(found?.failingSinceMs).toBeNumber();
    expect(found?.failed).toBeGreaterThan(0);
    expect(await endpointsOf('another')).toEqual([]);
  });

  it('are tested with a signed request without events', async () => {
    using endpoint = startWebhookEndpoint();
    const app = await makeApp(server, { webhooks: [endpoint.webhook] });
    const test = (url: string) =>
      admin(server, 'POST', `/apps/${app.id}/webhook-tests`, { body: { url } });
    expect(await test(endpoint.url)).toMatchObject({
      status: 200,
      json: { outcome: 'delivered', status: 200, answer: 'an answer' },
    });
    const request = await endpoint.requests.next();
    expect(request).toMatchObject({ key: app.key, events: [] });
    expect(request.signature).toBe(hmac(request.body, app.secret));
    endpoint.answerWith(500);
    expect((await test(endpoint.url)).json).toMatchObject({ outcome: 'refused', status: 500 });
    // Nothing is sent to an address that the app does not have.
    expect(await test('http://127.0.0.1:1/')).toMatchObject({
      status: 400,
      json: { field: 'url' },
    });
  });

  it('get many requests again, by address, state and time', async () => {
    using endpoint = startWebhookEndpoint();
    const app = await makeApp(server, { webhooks: [{ ...endpoint.webhook, batching: false }] });
    await using client = await RawClient.connect(server, { path: pathOf(7, app.key) });
    for (const name of ['a', 'b', 'c']) await client.subscribe(name);
    await webhooksOf(server, `app=${app.id}&state=delivered`, 3);
    const replay = async (body: object) =>
      (await admin(server, 'POST', '/webhook-replays', { body: { app: app.id, ...body } })).json;
    expect(await replay({})).toEqual({ replayed: 0, next: null });
    expect(await replay({ state: 'delivered', url: 'http://other' })).toMatchObject({
      replayed: 0,
    });
    expect(await replay({ state: 'delivered', createdToMs: 1_000 })).toMatchObject({ replayed: 0 });
    const far = Date.now() + 60_000;
    expect(await replay({ state: 'delivered', createdFromMs: far })).toMatchObject({ replayed: 0 });
    const { next } = (await replay({ state: 'delivered', url: endpoint.url, limit: 2 })) as {
      next: string;
    };
    expect(await replay({ state: 'delivered', before: next })).toEqual({ replayed: 1, next: null });
    await eventually(
      () => endpoint.asked(),
      (asked) => asked === 6,
    );
  });
});

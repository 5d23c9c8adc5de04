import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { metricRows } from '../../src/observability/metrics-table.ts';
import { admin } from '../../testing/clients/admin-api.ts';
import { pathOf, RawClient } from '../../testing/clients/raw-client.ts';
import { api, trigger } from '../../testing/clients/sign.ts';
import { eventually } from '../../testing/eventually.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { newApp } from '../../testing/servers/test-app.ts';

type Metrics = ReadonlyMap<string, number>;

/** Every series that `/metrics` shows now, by its name and label. */
async function metricsOf(server: Fanfare): Promise<Metrics> {
  const { status, text } = await admin(server, 'GET', '//metrics');
  expect(status).toBe(200);
  const series = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    series.map((line) => {
      const [, name = '', value] = /^(\S+) (\S+)$/.exec(line) ?? [];
      return [name, Number(value)];
    }),
  );
}

/** The metrics that changed while `act` ran, and by how much. */
async function changed(server: Fanfare, act: () => Promise<void>): Promise<Record<string, number>> {
  const before = await metricsOf(server);
  await act();
  const after = await metricsOf(server);
  const restless = /loop_delay|resident_memory|oldest_age|engine_answer/;
  return Object.fromEntries(
    [...after]
      .filter(([name, value]) => !restless.test(name) && value !== before.get(name))
      .map(([name, value]) => [name, value - (before.get(name) ?? 0)]),
  );
}

/** Settles when a metric has a value: what it counts passes through both loops. */
async function until(server: Fanfare, name: string, value: number): Promise<void> {
  await eventually(
    async () => (await metricsOf(server)).get(name),
    (now) => now === value,
  );
}

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare({
    onlyOne: 'figures',
    app: { id: APP.id, limits: { connections: 2, messagesPerDay: 1000 } },
    moreApps: [
      {
        id: '9',
        enabled: false,
        keys: [{ key: 'off', secret: 'x' }],
      },
      {
        id: '10',
        keys: [{ key: 'small', secret: 'small' }],
        limits: { messagesPerDay: 100 },
      },
    ],
  });
});
afterAll(() => server[Symbol.asyncDispose]());

describe('/metrics', () => {
  it('follows the Prometheus format: every metric, each series once, under its help and type', async () => {
    const { headers, text } = await admin(server, 'GET', '//metrics');
    expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    const lines = text.split('\n');
    expect(lines.pop()).toBe('');
    let current = '';
    const seen = new Set<string>();
    for (const line of lines) {
      const head = /^# (HELP|TYPE) ([a-z_]+) (.+)$/.exec(line);
      if (head !== null) {
        current = head[2] ?? '';
        continue;
      }
      const series = /^([a-z_]+)(\{[a-z]+="[^"]+"\})? (\S+)$/.exec(line);
      expect(series?.[1]?.replace(/_(bucket|count|sum)$/, '')).toBe(current);
      expect(Number.isFinite(Number(series?.[3]))).toBe(true);
      expect(seen.has(line.replace(/ \S+$/, ''))).toBe(false);
      seen.add(line.replace(/ \S+$/, ''));
    }
    const {
      certificateEnd: _ofServersWithOne,
      sourceUp: _ofServersWithSources,
      sourceLag: _ofThemToo,
      ...others
    } = metricRows;
    for (const { name } of Object.values(others)) expect(text).toContain(`# TYPE ${name} `);
  });

  it('names metrics by the conventions of Prometheus, and bounds every label', () => {
    for (const row of Object.values(metricRows)) {
      expect(row.name).toMatch(/^fanfare_[a-z_]+$/);
      expect(row.name.endsWith('_total')).toBe(row.kind === 'counter');
      if ('label' in row) expect(row.label.values.length).toBeLessThanOrEqual(20);
    }
    const names = Object.values(metricRows).map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });

  it('counts connections, channels and messages in both directions', async () => {
    const clients: RawClient[] = [];
    const message = JSON.stringify({ event: 'pusher:subscribe', data: { channel: 'a' } });
    const counted = await changed(server, async () => {
      for (let count = 0; count < 2; count++) {
        const client = await RawClient.connect(server);
        clients.push(client);
        client.send(message);
        await client.receive();
      }
    });
    expect(counted).toEqual({
      fanfare_connections: 2,
      fanfare_connections_opened_total: 2,
      fanfare_channels: 1,
      // 10 KiB and 1.5 KiB for each of them.
      'fanfare_memory_share_used_bytes{share="connections"}': 20_480,
      'fanfare_memory_share_used_bytes{share="subscriptions"}': 3_072,
      fanfare_messages_received_total: 2,
      fanfare_received_bytes_total: 2 * message.length,
    });
    const delivered = await changed(server, async () => {
      await trigger(server, { name: 'e', channels: ['a', 'nobody'], data: 'x' });
      for (const client of clients) await client.receive();
    });
    const frame = '{"event":"e","data":"x","channel":"a"}';
    expect(delivered).toEqual({
      'fanfare_api_requests_total{status="200"}': 1,
      fanfare_events_published_total: 2,
      fanfare_messages_delivered_total: 2,
      fanfare_delivered_bytes_total: 2 * frame.length,
    });
    for (const client of clients) await client[Symbol.asyncDispose]();
    await until(server, 'fanfare_connections', 0);
    await until(server, 'fanfare_channels', 0);
  });

  it('counts refused connections by their code', async () => {
    const codeOf = async (path: string) => {
      await using client = await RawClient.open(server, { path });
      return (await client.closed).code;
    };
    const counted = await changed(server, async () => {
      await using one = await RawClient.connect(server);
      await using two = await RawClient.connect(server);
      expect([one.socketId, two.socketId]).toHaveLength(2);
      expect(await codeOf(pathOf())).toBe(4004);
      expect(await codeOf(pathOf(7, 'unknown'))).toBe(4001);
      expect(await codeOf(pathOf(7, 'off'))).toBe(4003);
      expect(await codeOf('/app')).toBe(4005);
      expect(await codeOf(pathOf('x'))).toBe(4006);
      expect(await codeOf(pathOf(99))).toBe(4007);
      expect(await codeOf(`/app/${APP.key}`)).toBe(4008);
    });
    const codes = ['4001', '4003', '4004', '4005', '4006', '4007', '4008'];
    expect(counted).toMatchObject(
      Object.fromEntries(
        codes.map((code) => [`fanfare_connections_refused_total{code="${code}"}`, 1]),
      ),
    );
    await until(server, 'fanfare_connections', 0);
  });

  it('counts invalid handshakes', async () => {
    const counted = await changed(server, async () => {
      const response = await fetch(`http://127.0.0.1:${server.port}${pathOf()}`, {
        headers: { upgrade: 'websocket', connection: 'Upgrade' },
      });
      expect(response.status).toBe(400);
    });
    expect(counted).toEqual({ 'fanfare_connections_refused_total{code="handshake"}': 1 });
  });

  it('counts requests by their status', async () => {
    const counted = await changed(server, async () => {
      const path = `/apps/${APP.id}/channels`;
      const target = `http://127.0.0.1:${server.port}`;
      const events = `/apps/${APP.id}/events`;
      const large = JSON.stringify({ name: 'e', channel: 'a', data: 'x'.repeat(20_000) });
      for (const [status, answer] of [
        [200, api(server, 'GET', path)],
        [202, api(server, 'POST', `${path}/a/events`, { body: '{}', query: { name: 'e' } })],
        [400, api(server, 'POST', events, { body: '{}' })],
        [401, api(server, 'GET', path, { secret: 'wrong' })],
        [403, api(server, 'GET', '/apps/9/channels', { key: 'off', secret: 'x' })],
        [404, fetch(`${target}/nowhere`)],
        [405, fetch(`${target}${path}`, { method: 'PUT' })],
        [413, api(server, 'POST', events, { body: large })],
        [426, fetch(`${target}/app/${APP.key}`)],
      ] as const) {
        expect((await answer).status).toBe(status);
      }
    });
    const statuses = [200, 202, 400, 401, 403, 404, 405, 413, 426];
    expect(counted).toMatchObject(
      Object.fromEntries(
        statuses.map((status) => [`fanfare_api_requests_total{status="${status}"}`, 1]),
      ),
    );
  });

  it('counts the errors sent to clients', async () => {
    const counted = await changed(server, async () => {
      await using client = await RawClient.connect(server);
      client.send('not json');
      await client.receive();
      client.send({ event: 'pusher:subscribe', data: { channel: 'private-x', auth: 'no' } });
      await client.receive();
      client.send({ event: 'client-x', channel: 'private-x', data: {} });
      await client.receive();
    });
    expect(counted).toMatchObject({
      'fanfare_client_problems_total{problem="malformed-message"}': 1,
      'fanfare_client_problems_total{problem="subscription-unauthorised"}': 1,
    });
    await until(server, 'fanfare_connections', 0);
  });

  it('counts warnings of a quota that is used up', async () => {
    const counted = await changed(server, async () => {
      const keys = { key: 'small', secret: 'small' };
      for (let count = 0; count < 101; count++) await api(server, 'GET', '/apps/10/channels', keys);
    });
    expect(counted).toMatchObject({
      'fanfare_quota_warnings_total{left="5%"}': 1,
      'fanfare_quota_warnings_total{left="1%"}': 1,
      'fanfare_quota_warnings_total{left="0%"}': 1,
    });
  });

  it('shows the delay of both loops, the memory and the start', async () => {
    const metrics = await metricsOf(server);
    for (const loop of ['realtime', 'background']) {
      const delay = metrics.get(`fanfare_event_loop_delay_seconds{loop="${loop}"}`);
      expect(delay).toBeGreaterThanOrEqual(0);
      expect(metrics.get(`fanfare_log_lines_dropped_total{loop="${loop}"}`)).toBe(0);
    }
    expect(metrics.get('fanfare_resident_memory_bytes')).toBeGreaterThan(10_000_000);
    const age = Date.now() / 1000 - (metrics.get('fanfare_start_time_seconds') ?? 0);
    expect(age).toBeGreaterThan(0);
    expect(age).toBeLessThan(600);
  });
});

describe('on a server with a small buffer', () => {
  let small: Fanfare;
  beforeAll(async () => {
    small = await startFanfare({
      onlyOne: 'figures',
      channels: { sendBufferBytes: 65_536 },
      config: { webhooks: { allowPrivateAddresses: true } },
    });
  });
  afterAll(() => small[Symbol.asyncDispose]());

  it('a client that reads too slowly is counted', async () => {
    await using deaf = await RawClient.open(small, { deaf: true });
    deaf.send({ event: 'pusher:subscribe', data: { channel: 'a' } });
    await until(small, 'fanfare_channels', 1);
    const data = 'x'.repeat(10_000);
    for (let round = 0; round < 2_000; round++) {
      await trigger(small, { name: 'e', channel: 'a', data });
      if ((await metricsOf(small)).get('fanfare_connections') === 0) break;
    }
    expect((await metricsOf(small)).get('fanfare_slow_connections_closed_total')).toBe(1);
  });

  it('webhook attempts are counted by outcome, and so are waiting requests', async () => {
    const endpoint = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: ({ url }) =>
        new Response(null, { status: new URL(url).pathname === '/good' ? 200 : 500 }),
    });
    const to = (path: string) => ({
      url: `${endpoint.url.origin}${path}`,
      events: ['channel_occupied'],
    });
    const app = await newApp(small, { webhooks: [to('/good'), to('/bad')] });
    await using client = await app.connect();
    await client.subscribe('a');
    await until(small, 'fanfare_webhook_attempts_total{outcome="delivered"}', 1);
    await until(small, 'fanfare_outbox_requests', 1);
    const metrics = await metricsOf(small);
    expect(metrics.get('fanfare_webhook_attempts_total{outcome="refused"}')).toBeGreaterThan(0);
    expect(metrics.get('fanfare_outbox_bytes')).toBeGreaterThan(50);
    expect(metrics.get('fanfare_outbox_oldest_age_seconds')).toBeGreaterThan(0);
    await endpoint.stop(true);
  });
});

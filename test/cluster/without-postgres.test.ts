import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { admin } from '../../testing/clients/admin-api.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { type OwnRedis, startRedis } from '../../testing/servers/redis.ts';
import { appAt, type TestApp } from '../../testing/servers/test-app.ts';
import {
  startWebhookEndpoint,
  type WebhookEndpoint,
} from '../../testing/servers/webhook-endpoint.ts';
import { fanfare, temporaryDirectory } from '../cli/run-fanfare.ts';
import { enters, ROOM, usersAt } from './cluster.ts';

/** Servers of Channels alone, whose apps are all in the configuration, need no PostgreSQL. */

let parts: AsyncDisposableStack;
let redis: OwnRedis;
let backend: WebhookEndpoint;
let servers: readonly Fanfare[];

const without = (settings: object = {}) => ({
  engine: { type: 'redis', url: redis.url },
  push: { port: 0, instances: [] },
  webhooks: { allowPrivateAddresses: true },
  ...settings,
});

beforeAll(async () => {
  parts = new AsyncDisposableStack();
  redis = parts.use(await startRedis());
  backend = parts.use(startWebhookEndpoint());
  const webhooks = [{ url: backend.url, events: ['member_added'], batching: false }];
  servers = await Promise.all(
    [1, 2].map(() => startFanfare({ app: { webhooks }, config: without() })),
  );
  for (const server of servers) parts.use(server);
}, 180_000);
afterAll(() => parts.disposeAsync());

describe('two servers with an SQLite store each', () => {
  it('are one server of Channels, and report to webhooks once', async () => {
    const [one, two] = servers.map(appAt) as [TestApp, TestApp];
    await using ann = await one.connect();
    await using bob = await two.connect();
    await enters(one, ann, 'ann');
    await enters(two, bob, 'bob');
    expect(await ann.receive()).toMatchObject({ event: 'pusher_internal:member_added' });
    expect(await usersAt(one)).toEqual(['ann', 'bob']);
    await two.trigger({ name: 'e', channel: ROOM, data: 'x' });
    expect(await ann.receive()).toMatchObject({ event: 'e' });
    const added = [await backend.events.next(), await backend.events.next()];
    expect(added.map((event) => event['user_id']).toSorted()).toEqual(['ann', 'bob']);
    expect(backend.asked()).toBe(2);
  });

  it('refuse new apps and instances, which only one of them would serve', async () => {
    const [one] = servers as [Fanfare];
    for (const path of ['/apps', '/instances']) {
      const { status, json } = await admin(one, 'POST', path, { body: {} });
      expect(status).toBe(409);
      expect(JSON.stringify(json)).toContain('The servers share no database');
    }
    const created = await fanfare(one.directory, ['apps', 'create', '--config', 'config.json']);
    expect(created.exitCode).toBe(1);
    expect(created.stderr).toContain('must be in the configuration, at channels.apps');
  });

  it('do not start with apps or instances in the store, or with push', async () => {
    const refused = /exit code 2[\s\S]*set store\.url to postgres:\/\/…; or, without push/;
    for (const push of [
      { port: 0 },
      { port: 0, instances: [{ id: crypto.randomUUID(), secretKeys: ['x'] }] },
    ]) {
      expect(await startFanfare({ config: without({ push }) }).catch(String)).toMatch(refused);
    }
    const channels = { host: '127.0.0.1', port: 0 };
    expect(await startFanfare({ config: without({ channels }) }).catch(String)).toMatch(refused);
    using directory = temporaryDirectory();
    const url = `sqlite:${directory.path}/fanfare.db`;
    await fanfare(directory.path, ['apps', 'create'], { FANFARE_STORE_URL: url });
    const started = startFanfare({ config: without({ store: { url } }) });
    expect(await started.catch(String)).toMatch(
      /exit code 2[\s\S]*store\.url: the store holds \d+, which other servers do not see/,
    );
  });

  it('do not start with another layout of the data in Redis', async () => {
    // As a release with other data would leave it.
    const client = new Bun.RedisClient(redis.url);
    await client.set('other:layout', 'version 99');
    client.close();
    const engine = { type: 'redis', url: redis.url, keyPrefix: 'other:' };
    expect(await startFanfare({ config: without({ engine }) }).catch(String)).toMatch(
      /exit code 1[\s\S]*engine\.url: Redis holds data of another layout/,
    );
  });
});

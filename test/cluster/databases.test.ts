import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { type OwnRedis, startRedis } from '../../testing/servers/redis.ts';
import { appAt } from '../../testing/servers/test-app.ts';

/** Redis delivers what is published in one database to the subscribers in all of them. */

const EVENTS = Array.from({ length: 20 }, (_, n) => `event-${n}`);

let parts: AsyncDisposableStack;
let redis: OwnRedis;
let servers: readonly Fanfare[];

const at = (database: number) => ({
  engine: { type: 'redis', url: `${redis.url}/${database}` },
  push: { port: 0, instances: [] },
});

beforeAll(async () => {
  parts = new AsyncDisposableStack();
  redis = parts.use(await startRedis());
  servers = await Promise.all([0, 1, 2].map((n) => startFanfare({ config: at(n) })));
  for (const server of servers) parts.use(server);
}, 180_000);
afterAll(() => parts.disposeAsync());

describe('environments in different databases of one Redis', () => {
  it('with the same apps and channels do not hear each other', async () => {
    const apps = servers.map(appAt);
    await using clients = new AsyncDisposableStack();
    const received = await Promise.all(
      apps.map(async (app) => {
        const client = clients.use(await app.connect());
        await client.subscribe('news');
        return client;
      }),
    );
    for (const name of EVENTS) {
      for (const [n, app] of apps.entries()) {
        await app.trigger({ name: `${name} of ${n}`, channel: 'news', data: 'x' });
      }
    }
    for (const [n, client] of received.entries()) {
      const names: unknown[] = [];
      for (const _ of EVENTS) names.push((await client.receive()).event);
      expect(names).toEqual(EVENTS.map((name) => `${name} of ${n}`));
      await client.receiveNothing();
    }
  });
});

describe('a server of this version', () => {
  it('replaces the mark of a version that named the streams of all databases alike, unless such servers run', async () => {
    const url = `${redis.url}/5`;
    const client = new Bun.RedisClient(url);
    const former = 'version 1, 64 partitions, server 1 of 1';
    try {
      await client.set('fanfare:layout', former);
      await client.send('ZADD', ['fanfare:{0}L', String(Date.now() + 600_000), 'older']);
      expect(await startFanfare({ config: at(5) }).catch(String)).toMatch(
        /exit code 1[\s\S]*engine\.url: Servers of an older version run on this Redis, and messages of its database 5 /,
      );
      expect(await client.get('fanfare:layout')).toBe(former);
      await client.send('DEL', ['fanfare:{0}L']);
      await using _server = await startFanfare({ config: at(5) });
      expect(await client.get('fanfare:layout')).toBe(`${former}, streams of database 5`);
    } finally {
      client.close();
    }
  });
});

import { afterAll, beforeAll } from 'bun:test';
import type { App } from '../../src/channels/app.ts';
import { type OwnRedis, startRedis } from '../../testing/servers/redis.ts';
import { authorityContract, type OpenCluster } from './authority.contract.ts';
import { historyContract } from './history.contract.ts';
import { memberViewsContract } from './member-views.contract.ts';
import { RedisLoops } from './redis-loops.ts';

let redis: OwnRedis;
let other: OwnRedis;
const opened: RedisLoops[] = [];

beforeAll(async () => {
  redis = await startRedis();
  other = await startRedis();
});

afterAll(async () => {
  for (const cluster of opened) await cluster.close();
  await redis[Symbol.asyncDispose]();
  await other[Symbol.asyncDispose]();
});

/** Each step is a round trip, so a few schedules must do. */
function memberViews(name: string, open: (apps: readonly App[]) => Promise<OpenCluster>): void {
  memberViewsContract(name, open, 1);
}

for (const contract of [authorityContract, historyContract, memberViews]) {
  contract('RedisEngine of 3 loops', async (apps) => {
    const cluster = await RedisLoops.open([redis.url], apps, 3);
    opened.push(cluster);
    return cluster;
  });

  contract('RedisEngine of 2 loops over two servers', async (apps) => {
    const cluster = await RedisLoops.open([redis.url, other.url], apps, 2);
    opened.push(cluster);
    return cluster;
  });
}

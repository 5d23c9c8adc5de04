import { afterAll, afterEach, beforeAll, describe, expect, it } from 'bun:test';
import type { App } from '../../src/channels/app.ts';
import { socketId } from '../../src/channels/hub.fixture.ts';
import { STATE } from '../../src/engines/redis/scripts/statements.ts';
import { type OwnRedis, startRedis } from '../../testing/servers/redis.ts';
import { authorityContract, type OpenCluster } from './authority.contract.ts';
import { graceContract } from './grace.contract.ts';
import { historyContract } from './history.contract.ts';
import { largeContract } from './large.contract.ts';
import { memberViewsContract } from './member-views.contract.ts';
import { onlineUsersContract } from './online-users.contract.ts';
import { RedisLoops } from './redis-loops.ts';
import { valuesContract } from './values.contract.ts';
import { appWith, channel } from './values.ts';

/** More than one statement holds. */
const MEMBERS = 70;
const ENDS = ['member_removed', 'channel_vacated'] as const;

let redis: OwnRedis;
let other: OwnRedis;
const opened: RedisLoops[] = [];

beforeAll(async () => {
  redis = await startRedis();
  other = await startRedis();
});

afterEach(async () => {
  for (const cluster of opened.splice(0)) await cluster.close();
});

afterAll(async () => {
  await redis[Symbol.asyncDispose]();
  await other[Symbol.asyncDispose]();
});

/** Each step is a round trip, so a few schedules must do. */
function memberViews(name: string, open: (apps: readonly App[]) => Promise<OpenCluster>): void {
  memberViewsContract(name, open, 1);
}

for (const contract of [
  authorityContract,
  graceContract,
  largeContract,
  historyContract,
  memberViews,
  onlineUsersContract,
  valuesContract,
]) {
  contract('RedisEngine of 3 loops', async (apps) => {
    const cluster = await RedisLoops.open([redis.url], apps, 3);
    opened.push(cluster);
    return cluster;
  });

  contract('RedisEngine of 2 processes of 2 loops', async (apps) => {
    const cluster = await RedisLoops.open([redis.url], apps, 4, 2);
    opened.push(cluster);
    return cluster;
  });

  contract('RedisEngine of 2 loops over two servers', async (apps) => {
    const cluster = await RedisLoops.open([redis.url, other.url], apps, 2);
    opened.push(cluster);
    return cluster;
  });
}

describe('many members who leave while Redis is away', () => {
  it('are all reported as removed, and only then the channel as vacated', async () => {
    const app: App = {
      ...appWith({}),
      webhooks: [{ url: 'http://localhost/', events: ENDS, batching: true }],
    };
    const room = channel('presence-room');
    const cluster = new RedisLoops([redis.url], [app]);
    opened.push(cluster);
    let isAway = false;
    const { engine } = await cluster.add({
      fate: (script) => (isAway && script === STATE ? 'not-run' : 'answered'),
    });
    const users = Array.from({ length: MEMBERS }, (_, n) => `user-${n}`);
    for (const [n, userId] of users.entries()) {
      const newcomer = { socketId: socketId(`1.${n + 1}`) };
      const member = { userId, userInfo: undefined };
      await engine.join({ app, channel: room, held: n + 1, member, newcomer }, () => undefined);
    }
    isAway = true;
    for (const [n, userId] of users.entries()) {
      await engine.leave({ app, channel: room, held: MEMBERS - n - 1, userId });
    }
    isAway = false;
    await cluster.advance(10_000);
    await cluster.settled();
    const reported = cluster.reported().map(({ event }) => event.name);
    expect(reported).toEqual([...Array(MEMBERS).fill('member_removed'), 'channel_vacated']);
  });
});

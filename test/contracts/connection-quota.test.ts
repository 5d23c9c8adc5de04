import { afterAll, afterEach, beforeAll, describe, expect, it } from 'bun:test';
import type { App } from '../../src/channels/app.ts';
import type { ConnectionQuota } from '../../src/channels/ports.ts';
import { LocalConnectionQuota } from '../../src/engines/local-connection-quota.ts';
import { partitionOf } from '../../src/engines/partition.ts';
import { SharedCounts, shareCounts } from '../../src/runtime/shared-memory/shared-counts.ts';
import { type OwnRedis, startRedis } from '../../testing/servers/redis.ts';
import { type Fate, type RedisLoop, RedisLoops } from './redis-loops.ts';
import { appWith } from './values.ts';

let redis: OwnRedis;
const opened: RedisLoops[] = [];

beforeAll(async () => {
  redis = await startRedis();
});
afterEach(async () => {
  for (const cluster of opened.splice(0)) await cluster.close();
});
afterAll(() => redis[Symbol.asyncDispose]());

const limited = () => appWith({ connections: 5 });

/** Loops over Redis. */
async function loopsOverRedis(
  count: number,
  apps: readonly App[] = [],
  fate?: Fate,
): Promise<{ readonly cluster: RedisLoops; readonly loops: readonly RedisLoop[] }> {
  const cluster = new RedisLoops([redis.url], apps);
  opened.push(cluster);
  const loops: RedisLoop[] = [];
  for (let n = 0; n < count; n++) loops.push(await cluster.add(fate && { fate }));
  return { cluster, loops };
}

/** Asks for places one after the other; returns how many were given. */
async function placesAt(quota: ConnectionQuota, app: App, wanted: number): Promise<number> {
  let given = 0;
  for (let n = 0; n < wanted; n++) if (await quota.take(app)) given++;
  return given;
}

const engines: Record<string, () => Promise<readonly ConnectionQuota[]>> = {
  'one loop': async () => [new LocalConnectionQuota()],
  '3 threads': async () => {
    const memory = shareCounts();
    return [1, 2, 3].map(() => new LocalConnectionQuota(new SharedCounts(memory)));
  },
  '3 loops over Redis': async () => {
    const { loops } = await loopsOverRedis(3);
    return loops.map(({ quotas }) => quotas);
  },
};

for (const [name, open] of Object.entries(engines)) {
  describe(`the connections of an app on ${name}`, () => {
    const stage = async () => {
      const quotas = await open();
      return (n: number): ConnectionQuota => quotas[n % quotas.length] as ConnectionQuota;
    };

    it('are as many as it may have, and one more for each that goes', async () => {
      const at = await stage();
      const app = limited();
      for (let n = 0; n < 5; n++) expect(await at(n).take(app)).toBe(true);
      for (let n = 0; n < 3; n++) expect(await at(n).take(app)).toBe(false);
      at(1).release(app);
      expect(await placesAt(at(1), app, 2)).toBe(1);
      expect(await at(2).take(app)).toBe(false);
    });

    it('are not too many when all come at once', async () => {
      const at = await stage();
      const app = limited();
      const taken = await Promise.all(Array.from({ length: 40 }, (_, n) => at(n).take(app)));
      expect(taken.filter(Boolean)).toHaveLength(5);
    });

    it('are not limited with a limit of 0, and do not take places of another app', async () => {
      const at = await stage();
      const [free, app] = [appWith({ connections: 0 }, 'free'), limited()];
      for (let n = 0; n < 20; n++) expect(await at(n).take(free)).toBe(true);
      expect(await placesAt(at(0), app, 6)).toBe(5);
    });

    it('stay when the limit is lowered, and count', async () => {
      const at = await stage();
      const app = limited();
      for (let n = 0; n < 5; n++) await at(n).take(app);
      Object.assign(app.limits, { connections: 4 });
      expect(await at(0).take(app)).toBe(false);
      at(0).release(app);
      expect(await at(1).take(app)).toBe(false);
      at(0).release(app);
      // The same loop: another one may ask before Redis knows of the release.
      expect(await placesAt(at(0), app, 2)).toBe(1);
    });
  });
}

describe('the connections of an app on several servers', () => {
  it('leave their places to others when their server is killed', async () => {
    const { cluster, loops } = await loopsOverRedis(2);
    const [one, two] = loops as [RedisLoop, RedisLoop];
    const app = limited();
    expect(await placesAt(one.quotas, app, 3)).toBe(3);
    expect(await placesAt(two.quotas, app, 3)).toBe(2);
    // After this long, a node may sweep others.
    await cluster.advance(12_000);
    await cluster.kill(one);
    await cluster.advance(9000);
    expect(await two.quotas.take(app)).toBe(false);
    await cluster.advance(6000);
    expect(await placesAt(two.quotas, app, 4)).toBe(3);
  });

  it('leave their places to others when several servers are killed at once', async () => {
    const { cluster, loops } = await loopsOverRedis(6);
    const [left, ...killed] = loops as [RedisLoop, ...RedisLoop[]];
    const app = limited();
    for (const { quotas } of killed) expect(await quotas.take(app)).toBe(true);
    await cluster.advance(12_000);
    for (const loop of killed) await cluster.kill(loop);
    await cluster.advance(15_000);
    expect(await placesAt(left.quotas, app, 6)).toBe(5);
  });

  it('are swept after the last place of a killed server was given back', async () => {
    const { cluster, loops } = await loopsOverRedis(2);
    const [one, two] = loops as [RedisLoop, RedisLoop];
    const app = limited();
    await cluster.advance(12_000);
    await one.quotas.take(app);
    one.open.set(app, 1);
    await cluster.advance(1000);
    // The number of open connections is stated a second later, and the server does not live so long.
    one.quotas.release(app);
    await cluster.settled();
    await cluster.kill(one);
    await cluster.advance(15_000);
    const { servers } = await two.quotas.figures([app], 0);
    expect(servers).toMatchObject([{ name: 'server-1' }]);
  });

  it('keep their places, and are let in beyond the limit, when a server was taken for dead', async () => {
    const { cluster, loops } = await loopsOverRedis(2);
    const [one, two] = loops as [RedisLoop, RedisLoop];
    const app = limited();
    await placesAt(one.quotas, app, 3);
    await cluster.advance(12_000);
    cluster.suspend(one);
    await cluster.advance(15_000);
    expect(await placesAt(two.quotas, app, 6)).toBe(5);
    cluster.resume(one);
    await cluster.advance(4000);
    for (let n = 0; n < 3; n++) two.quotas.release(app);
    // Three and two.
    expect(await two.quotas.take(app)).toBe(false);
    one.quotas.release(app);
    await cluster.settled();
    expect(await placesAt(two.quotas, app, 2)).toBe(1);
  });

  it('are let in while Redis does not answer, and count afterwards', async () => {
    let fate: ReturnType<Fate> = 'answered';
    const { cluster, loops } = await loopsOverRedis(2, [], () => fate);
    const [one, two] = loops as [RedisLoop, RedisLoop];
    const app = limited();
    fate = 'not-run';
    expect(await placesAt(one.quotas, app, 6)).toBe(6);
    fate = 'answered';
    await cluster.advance(3000);
    expect(await two.quotas.take(app)).toBe(false);
    one.quotas.release(app);
    one.quotas.release(app);
    await cluster.settled();
    expect(await placesAt(two.quotas, app, 2)).toBe(1);
  });

  it('are let in while Redis does not answer, of however many apps', async () => {
    let fate: ReturnType<Fate> = 'answered';
    const { loops } = await loopsOverRedis(1, [], () => fate);
    const [one] = loops as [RedisLoop];
    fate = 'not-run';
    const first = limited();
    const ofItsPartition = Array.from({ length: 20_000 }, (_, n) => `app-${n}`).filter(
      (id) => partitionOf({ id }, '') === partitionOf(first, ''),
    );
    // More than one statement holds.
    expect(ofItsPartition.length).toBeGreaterThan(200);
    const taken = await Promise.all(
      ofItsPartition.map((id) => one.quotas.take(appWith({ connections: 5 }, id))),
    );
    expect(taken).not.toContain(false);
  });

  it('are let in beyond 1,000 that wait for Redis at once, and count afterwards', async () => {
    const { loops } = await loopsOverRedis(2);
    const [one, two] = loops as [RedisLoop, RedisLoop];
    const app = limited();
    const taken = await Promise.all(Array.from({ length: 1010 }, () => one.quotas.take(app)));
    expect(taken.filter(Boolean)).toHaveLength(10);
    expect(await two.quotas.take(app)).toBe(false);
    for (let n = 0; n < 6; n++) one.quotas.release(app);
    expect(await placesAt(one.quotas, app, 3)).toBe(1);
  });

  it('follow the limit of an app that was removed and created again', async () => {
    const { loops } = await loopsOverRedis(1);
    const [one] = loops as [RedisLoop];
    const app = limited();
    expect(await placesAt(one.quotas, app, 6)).toBe(5);
    expect(await placesAt(one.quotas, appWith({ connections: 7 }, app.id), 3)).toBe(2);
  });

  it('count once when a reply was lost', async () => {
    let fate: ReturnType<Fate> = 'answered';
    const { cluster, loops } = await loopsOverRedis(2, [], () => fate);
    const [one, two] = loops as [RedisLoop, RedisLoop];
    const app = limited();
    fate = 'reply-lost';
    expect(await placesAt(one.quotas, app, 2)).toBe(2);
    fate = 'answered';
    await cluster.advance(2000);
    expect(await placesAt(two.quotas, app, 4)).toBe(3);
  });

  it('are stated again to a Redis that has lost its data', async () => {
    const { cluster, loops } = await loopsOverRedis(2);
    const [one, two] = loops as [RedisLoop, RedisLoop];
    const app = limited();
    await placesAt(one.quotas, app, 3);
    await placesAt(two.quotas, app, 1);
    await one.servers[0]?.commands.run(['FLUSHALL']);
    await cluster.advance(4000);
    expect(await placesAt(two.quotas, app, 3)).toBe(1);
  });

  it('are shown app by app and server by server, within a second', async () => {
    const [app, other] = [appWith({}, 'a'), appWith({ connections: 3 }, 'b')];
    const { cluster, loops } = await loopsOverRedis(2, [app, other]);
    const [one, two] = loops as [RedisLoop, RedisLoop];
    one.open.set(app, 2);
    one.open.set(other, 1);
    await one.quotas.take(other);
    two.open.set(app, 3);
    await cluster.advance(1000);
    const figures = async () => await two.quotas.figures([app, other], 0);
    expect(await figures()).toMatchObject({
      apps: [
        { appId: 'a', connections: 5 },
        { appId: 'b', connections: 1 },
      ],
    });
    const { servers } = await figures();
    expect(servers.map(({ name, connections }) => [name, Object.fromEntries(connections)])).toEqual(
      expect.arrayContaining([
        ['server-0', { a: 2, b: 1 }],
        ['server-1', { a: 3 }],
      ]),
    );
    expect(new Map(await two.quotas.openConnections())).toEqual(
      new Map([
        ['a', 5],
        ['b', 1],
      ]),
    );
    one.open.clear();
    await cluster.advance(1000);
    expect((await figures()).apps[0]).toMatchObject({ connections: 3 });
  });

  it('are not shown in part while a server has not stated them again', async () => {
    const { cluster, loops } = await loopsOverRedis(2);
    const [one] = loops as [RedisLoop, RedisLoop];
    await one.servers[0]?.commands.run(['FLUSHALL']);
    await expect(one.quotas.figures([limited()], 0)).rejects.toThrow('Redis');
    await cluster.advance(15_000);
    expect((await one.quotas.figures([limited()], 0)).servers).toHaveLength(2);
  });
});

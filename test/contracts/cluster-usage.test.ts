import { afterAll, afterEach, beforeAll, describe, expect, it } from 'bun:test';
import type { App, AppLimits } from '../../src/channels/app.ts';
import { type OwnRedis, startRedis } from '../../testing/servers/redis.ts';
import { type Fate, type RedisLoop, RedisLoops } from './redis-loops.ts';
import { appWith } from './values.ts';

/** Quotas and rates of an app that loops over Redis enforce together. */

let redis: OwnRedis;
const opened: RedisLoops[] = [];

beforeAll(async () => {
  redis = await startRedis();
});
afterEach(async () => {
  for (const cluster of opened.splice(0)) await cluster.close();
});
afterAll(() => redis[Symbol.asyncDispose]());

/** The day on which the fake clock begins. */
const DAY = new Date(1_700_000_000_000).toISOString().slice(0, 10);
const HOUR_MS = 3_600_000;

/** Apps so far: each test has its own. */
let apps = 0;

async function stage(limits: Partial<AppLimits>, count = 2, fate?: Fate) {
  apps++;
  const app = appWith(limits, `app-${apps}`);
  const cluster = new RedisLoops([redis.url], [app]);
  opened.push(cluster);
  const add = async () => await cluster.add(fate && { fate });
  const loops: RedisLoop[] = [];
  for (let n = 0; n < count; n++) loops.push(await add());
  const at = (n: number): RedisLoop => loops[n % count] as RedisLoop;
  /** What the cluster shows as the messages of today. */
  const shown = async (loop = at(0)) => {
    const { apps } = await loop.quotas.figures([app], loop.usage.today());
    return { all: apps[0]?.messages, ofClients: apps[0]?.clientMessages };
  };
  return { app, cluster, add, at, shown };
}

describe('messagesPerDay on several servers', () => {
  it('holds for their sum, a second later at most', async () => {
    const { app, cluster, at } = await stage({ messagesPerDay: 100 }, 3);
    for (let n = 0; n < 3; n++) expect(at(n).usage.take(app, 30)).toBe(true);
    at(0).usage.charge(app, 1000, 'clients');
    await cluster.advance(1000);
    expect(at(2).usage.take(app, 10)).toBe(true);
    await cluster.advance(1000);
    for (let n = 0; n < 3; n++) expect(at(n).usage.take(app, 1)).toBe(false);
  });

  it('is known at once when little of it is left', async () => {
    const { app, cluster, at } = await stage({ messagesPerDay: 100 });
    expect(at(0).usage.take(app, 1)).toBe(true);
    await cluster.advance(1000);
    expect(at(1).usage.take(app, 99)).toBe(true);
    await cluster.settled();
    // A tenth of what this loop believes to be left.
    expect(at(0).usage.take(app, 10)).toBe(true);
    await cluster.settled();
    expect(at(0).usage.take(app, 1)).toBe(false);
  });

  it('counts once what was stated when the reply was lost', async () => {
    let fate: ReturnType<Fate> = 'answered';
    const { app, cluster, at, shown } = await stage({}, 2, () => fate);
    at(0).usage.charge(app, 5, 'backend');
    fate = 'reply-lost';
    await cluster.advance(1000);
    fate = 'answered';
    at(0).usage.charge(app, 2, 'clients');
    at(1).usage.charge(app, 1, 'backend');
    await cluster.advance(3000);
    expect(await shown()).toEqual({ all: 8, ofClients: 2 });
  });

  it('counts what was sent while Redis did not answer', async () => {
    let fate: ReturnType<Fate> = 'answered';
    const { app, cluster, at, shown } = await stage({ messagesPerDay: 10 }, 2, () => fate);
    fate = 'not-run';
    for (let n = 0; n < 4; n++) {
      at(0).usage.charge(app, 1, 'backend');
      await cluster.advance(1000);
    }
    fate = 'answered';
    await cluster.advance(3000);
    expect(await shown(at(1))).toEqual({ all: 4, ofClients: 0 });
  });

  it('keeps what a killed server has counted, and counts nothing twice after a restart', async () => {
    const { app, cluster, add, at, shown } = await stage({ messagesPerDay: 100 });
    at(0).usage.charge(app, 40, 'backend');
    at(1).usage.charge(app, 20, 'clients');
    await cluster.advance(1000);
    await cluster.kill(at(0));
    const stored = { appId: app.id, day: DAY, messages: 60, clientMessages: 20 };
    const again = await add();
    again.usage.restore([stored]);
    again.usage.charge(app, 1, 'backend');
    await cluster.advance(1000);
    expect(await shown(again)).toEqual({ all: 61, ofClients: 20 });
    expect(again.usage.knownOf(app)).toEqual({ backend: 41, clients: 20 });
    // The store has what others are about to state as well.
    const late = await add();
    late.usage.restore([{ ...stored, messages: 66 }]);
    late.usage.charge(app, 1, 'backend');
    await cluster.advance(2000);
    at(1).usage.charge(app, 5, 'backend');
    await cluster.advance(1000);
    expect(await shown(late)).toEqual({ all: 67, ofClients: 20 });
  });

  it('continues from the store when Redis has no data', async () => {
    const { app, cluster, at, shown } = await stage({ messagesPerDay: 100 });
    for (const n of [0, 1]) {
      at(n).usage.restore([{ appId: app.id, day: DAY, messages: 90, clientMessages: 10 }]);
      at(n).usage.charge(app, 5, 'backend');
    }
    await cluster.advance(1000);
    expect(await shown()).toEqual({ all: 100, ofClients: 10 });
    await cluster.advance(1000);
    for (const n of [0, 1]) {
      expect(at(n).usage.take(app, 11)).toBe(false);
      expect(at(n).usage.take(app, 1)).toBe(true);
    }
  });

  it('survives the loss of all data of Redis', async () => {
    const { app, cluster, at, shown } = await stage({ messagesPerDay: 1000 });
    at(0).usage.charge(app, 40, 'backend');
    at(1).usage.charge(app, 22, 'backend');
    await cluster.advance(2000);
    await at(0).servers[0]?.commands.run(['FLUSHALL']);
    at(0).usage.charge(app, 1, 'backend');
    at(1).usage.charge(app, 1, 'backend');
    await cluster.advance(15_000);
    expect(await shown()).toEqual({ all: 64, ofClients: 0 });
  });

  it('survives a Redis that has forgotten the latest changes', async () => {
    const { app, cluster, at, shown } = await stage({ messagesPerDay: 1000 });
    at(0).usage.charge(app, 40, 'backend');
    await cluster.advance(1000);
    const [server] = at(0).servers;
    const keys = await server?.commands.run(['KEYS', `*Q:*/${app.id}`]);
    await server?.commands.run(['HSET', String(keys), 'b', 30]);
    at(1).usage.charge(app, 1, 'backend');
    await cluster.advance(2000);
    expect(await shown()).toEqual({ all: 41, ofClients: 0 });
  });

  it('begins anew at midnight', async () => {
    const { app, cluster, at, shown } = await stage({ messagesPerDay: 10 });
    expect(at(0).usage.take(app, 10)).toBe(true);
    at(1).usage.charge(app, 1, 'backend');
    await cluster.advance(1000);
    expect(at(1).usage.take(app, 1)).toBe(false);
    await cluster.advance(2 * HOUR_MS);
    expect(at(1).usage.take(app, 4)).toBe(true);
    await cluster.advance(2000);
    expect(await shown()).toEqual({ all: 4, ofClients: 0 });
  });

  it('warns once for all servers', async () => {
    const { app, cluster, at } = await stage({ messagesPerDay: 100 });
    for (let n = 0; n < 100; n++) {
      at(n).usage.charge(app, 1, 'backend');
      if (n % 10 === 0) await cluster.advance(1000);
    }
    await cluster.advance(2000);
    // Each by the loop that has passed it, so in any order.
    expect(cluster.warnings.toSorted()).toEqual(['0%', '1%', '5%']);
  });
});

const take = {
  triggersPerSecond: (loop: RedisLoop, app: App) => loop.usage.takeTriggers(app, 1),
  queriesPerSecond: (loop: RedisLoop, app: App) => loop.usage.takeQuery(app),
};

describe.each(['triggersPerSecond', 'queriesPerSecond'] as const)(
  '%s on several servers',
  (rate) => {
    it('holds for their sum, however requests are spread', async () => {
      for (const loopOf of [(n: number) => n, (n: number) => n >> 4]) {
        const { app, cluster, at } = await stage({ [rate]: 20 }, 3);
        let taken = 0;
        // Five times as many as there may be, for 6 s.
        for (let n = 0; n < 600; n++) {
          if (take[rate](at(loopOf(n)), app)) taken++;
          await cluster.advance(10);
        }
        // The burst of one second, the rate, and one second's worth of tolerance.
        expect(taken).toBeLessThanOrEqual(20 + 6 * 20 + 20);
        expect(taken).toBeGreaterThan(6 * 20 * 0.8);
      }
    });

    it('may be used up by requests to one server alone', async () => {
      const { app, cluster, at } = await stage({ [rate]: 20 }, 3);
      let taken = 0;
      for (let n = 0; n < 300; n++) {
        if (take[rate](at(0), app)) taken++;
        await cluster.advance(10);
      }
      expect(taken).toBeGreaterThan(3 * 20 * 0.95);
    });

    it('does not pay for the time in which Redis did not answer', async () => {
      let fate: ReturnType<Fate> = 'answered';
      const { app, cluster, at } = await stage({ [rate]: 20 }, 2, () => fate);
      fate = 'not-run';
      for (let n = 0; n < 200; n++) {
        take[rate](at(n), app);
        await cluster.advance(100);
      }
      fate = 'answered';
      await cluster.advance(4000);
      expect(take[rate](at(0), app)).toBe(true);
      expect(take[rate](at(1), app)).toBe(true);
    });
  },
);

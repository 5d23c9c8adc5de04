import { expect, it } from 'bun:test';
import { FakeTime } from '../../testing/fake-time.ts';
import { RateLimiter } from '../runtime/rates/rate-limiter.ts';
import { perSecond } from '../runtime/rates/token-bucket.ts';
import { RateExchange, type RateStore, type ReportTaken } from './rate-exchange.ts';

const INSTANCE = 7;
const KIND = 'publishes';

/** What a store with a row for each server does. */
class Store {
  readonly rows = new Map<string, number>();
  asked = 0;
  isAway = false;

  of(server: string): RateStore {
    const keyOf = (kind: string, instance: number) => `${server}\n${kind}\n${instance}`;
    const use = () => {
      this.asked++;
      if (this.isAway) throw new Error('away');
    };
    return {
      add: async (taken) => {
        use();
        for (const { kind, instance, tokens } of taken) {
          const key = keyOf(kind, instance);
          this.rows.set(key, (this.rows.get(key) ?? 0) + tokens);
        }
      },
      takenElsewhere: async (instances) => {
        use();
        return [...this.rows].flatMap(([key, tokens]) => {
          const [whose = '', kind = '', instance] = key.split('\n');
          const isWanted = whose !== server && instances.includes(Number(instance));
          return isWanted ? [{ server: whose, kind, instance: Number(instance), tokens }] : [];
        });
      },
    };
  }
}

class Server {
  readonly faults: unknown[] = [];
  private readonly buckets = new RateLimiter<number>();
  private readonly report: ReportTaken;
  private readonly time: FakeTime;

  constructor(name: string, store: Store, time: FakeTime) {
    this.time = time;
    const storeFailed = (error: unknown) => this.faults.push(error);
    const exchange = new RateExchange({ store: store.of(name), timers: time, storeFailed });
    this.report = exchange.share(KIND, this.buckets);
  }

  /** Whether one more is let pass. */
  takes(limit: number): boolean {
    const rate = perSecond(limit);
    if (!this.buckets.take(INSTANCE, rate, this.time.now())) return false;
    this.report(INSTANCE, rate, 1);
    return true;
  }
}

function cluster(count: number) {
  const time = new FakeTime();
  const store = new Store();
  const servers = Array.from({ length: count }, (_, n) => new Server(`s${n}`, store, time));
  /** Asks each server this often in each of these seconds; returns how many of all passed. */
  const ask = async (seconds: number, limit: number, perServer: readonly number[]) => {
    let passed = 0;
    const asked = servers.map(() => 0);
    for (let ms = 0; ms < seconds * 1000; ms += 5) {
      for (const [place, server] of servers.entries()) {
        const wanted = ((perServer[place] ?? 0) * (ms + 5)) / 1000;
        while ((asked[place] ?? 0) < Math.floor(wanted)) {
          asked[place] = (asked[place] ?? 0) + 1;
          if (server.takes(limit)) passed += 1;
        }
      }
      await time.advance(5);
    }
    return passed;
  };
  return { time, store, servers, ask };
}

it.each([2, 3, 8])('the sum of %d servers keeps the rate', async (count) => {
  const { ask } = cluster(count);
  const limit = 100;
  const greedy = Array.from({ length: count }, () => 300);
  await ask(2 * count, limit, greedy);
  const seconds = 20;
  const passed = await ask(seconds, limit, greedy);
  expect(passed).toBeGreaterThan(0.9 * limit * seconds);
  expect(passed).toBeLessThan(1.15 * limit * seconds);
});

it('at first, a limit admits at most one extra bucket for each further server', async () => {
  const { ask } = cluster(3);
  const passed = await ask(10, 100, [400, 400, 400]);
  expect(passed).toBeLessThan(3 * 100 + 1.1 * 10 * 100);
});

it('one server alone may have the whole rate', async () => {
  const { ask } = cluster(3);
  await ask(1, 100, [400, 0, 0]);
  expect(await ask(10, 100, [400, 0, 0])).toBeGreaterThan(980);
});

it('servers that together stay below the rate refuse nothing', async () => {
  const { ask } = cluster(2);
  expect(await ask(10, 100, [30, 60])).toBe(900);
});

it('a limit of one per second holds, too', async () => {
  const { ask } = cluster(2);
  await ask(3, 1, [20, 20]);
  const passed = await ask(30, 1, [20, 20]);
  expect(passed).toBeGreaterThanOrEqual(25);
  expect(passed).toBeLessThanOrEqual(36);
});

it('instances that use little of a rate cost the store nothing, nor do idle ones', async () => {
  const { ask, store, time } = cluster(2);
  await ask(60, 1000, [4, 4]);
  expect(store.asked).toBe(0);
  await ask(1, 10, [100, 100]);
  expect(store.asked).toBeGreaterThan(0);
  await time.advance(15_000);
  const { asked } = store;
  await time.advance(600_000);
  expect(store.asked).toBe(asked);
});

it('while the store is away, each server counts for itself, and nobody is charged for that afterwards', async () => {
  const { ask, store, servers } = cluster(2);
  await ask(3, 100, [200, 200]);
  store.isAway = true;
  const away = await ask(20, 100, [200, 0]);
  expect(away).toBeGreaterThan(1900);
  expect(servers[0]?.faults.length).toBeGreaterThan(10);
  store.isAway = false;
  expect(await ask(1, 100, [0, 90])).toBeGreaterThan(80);
});

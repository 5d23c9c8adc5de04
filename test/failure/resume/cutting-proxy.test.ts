import { expect, it } from 'bun:test';
import { runs, testSeed } from '../../../testing/long-run.ts';
import { Random } from '../../../testing/random.ts';
import { ByteCuttingProxy } from '../../../testing/servers/byte-cutting-proxy.ts';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { restart } from '../../../testing/servers/restart.ts';
import { type TrialOptions, trial } from './trial.ts';

/** Clients of pusher-js with the plugin, whose connections break at random bytes. */

const DELIVERIES = Number(process.env['TEST_DELIVERIES'] ?? runs(10_000, 1_000_000));
const RESTARTS = runs(1, 100);
/** Deliveries from one restart to the next. */
const BETWEEN_RESTARTS = 5_000;
/** Enough for whatever a client misses, so that there is no gap. */
const HISTORY = [{ channels: '*', events: 10_000, bytes: 67_108_864, seconds: 3600 }];

const seed = testSeed();

async function start(): Promise<Fanfare> {
  return await startFanfare({
    app: { history: HISTORY, limits: { historyBytes: 0, subscriptionsPerSecond: 0 } },
    // All clients come from one address.
    channels: { addressLimits: { connectionsPerSecond: 0, framesPerSecond: 0 } },
  });
}

/** Sends events over connections that break, and expects that all of them arrive, once and in order, without a gap. */
async function expectAll(server: Fanfare, options: Pick<TrialOptions, 'deliveries' | 'meanwhile'>) {
  const random = new Random(seed);
  await using network = await ByteCuttingProxy.start({
    targetPort: server.port,
    random,
    received: [2_000, 30_000],
    // A client that has reconnected often names 100 sockets with each of its channels: 15 kB must get through now and then.
    sent: [500, 40_000],
  });
  const { port } = server;
  const result = await trial({ port, network, random, clients: 10, ...options });
  console.info(`seed ${seed}`, { ...result, cuts: network.cuts });
  expect(result.problems).toEqual([]);
  expect(result.gaps).toBe(0);
  return { ...result, cuts: network.cuts };
}

it(
  'loses and duplicates nothing',
  async () => {
    await using server = await start();
    const { cuts } = await expectAll(server, { deliveries: DELIVERIES });
    expect(cuts).toBeGreaterThan(DELIVERIES / 500);
  },
  180_000 + 2 * DELIVERIES,
);

it(
  'loses and duplicates nothing when the server is stopped and started again',
  async () => {
    let server = await start();
    await using parts = new AsyncDisposableStack();
    parts.use(server);
    let restarts = 0;
    await expectAll(server, {
      deliveries: (RESTARTS + 1) * BETWEEN_RESTARTS,
      async meanwhile(deliveries) {
        if (deliveries < (restarts + 1) * BETWEEN_RESTARTS) return;
        restarts += 1;
        server = parts.use(await restart(server));
      },
    });
    expect(restarts).toBe(RESTARTS);
  },
  180_000 + RESTARTS * 60_000,
);

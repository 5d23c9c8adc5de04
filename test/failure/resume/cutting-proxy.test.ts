import { expect, it } from 'bun:test';
import { runs, testSeed } from '../../../testing/long-run.ts';
import { Random } from '../../../testing/random.ts';
import { ByteCuttingProxy } from '../../../testing/servers/byte-cutting-proxy.ts';
import { startFanfare } from '../../../testing/servers/fanfare.ts';
import { trial } from './trial.ts';

/** Clients of pusher-js with the plugin, whose connections break at random bytes. */

const DELIVERIES = runs(5_000, 100_000);
/** Enough for whatever a client misses, so that there is no gap. */
const HISTORY = [{ channels: '*', events: 10_000, bytes: 67_108_864, seconds: 3600 }];

it(
  'loses nothing and doubles nothing',
  async () => {
    const seed = testSeed();
    const random = new Random(seed);
    await using server = await startFanfare({
      app: { history: HISTORY, limits: { historyBytes: 0, subscriptionsPerSecond: 0 } },
      // All clients come from one address.
      channels: { addressLimits: { connectionsPerSecond: 0, framesPerSecond: 0 } },
    });
    await using network = await ByteCuttingProxy.start({
      targetPort: server.port,
      random,
      received: [2_000, 30_000],
      sent: [500, 5_000],
    });
    const result = await trial({
      port: server.port,
      network,
      random,
      clients: 10,
      deliveries: DELIVERIES,
    });
    console.info(`seed ${seed}`, { ...result, cuts: network.cuts });
    expect(result.faults).toEqual([]);
    expect(result.gaps).toBe(0);
    expect(network.cuts).toBeGreaterThan(DELIVERIES / 500);
  },
  runs(60_000, 1_800_000),
);

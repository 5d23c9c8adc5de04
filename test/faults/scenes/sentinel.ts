import { type OwnRedis, startRedis, startSentinel } from '../../../testing/servers/redis.ts';
import type { Amounts } from '../amounts.ts';
import { type Installation, severalServers } from '../installation.ts';
import { askRedis } from '../machine/ask-redis.ts';
import { type Scene, scene, type Trial } from '../trial.ts';

const BETWEEN_MIN_MS = 1000;
const BETWEEN_MAX_MS = 6000;
/** How long before the failover nothing is copied any more: what was answered in the last second may be lost. Milliseconds. */
const NOT_COPIED_MAX_MS = 900;
/** A sentinel takes a second to notice, and servers ask it every 3 s. Milliseconds. */
const FAILOVER_MS = 8000;
/** How long the one that was killed is gone after that. Milliseconds. */
const GONE_MAX_MS = 4000;
const COPIED_MAX_MS = 60_000;
const LOOK_MS = 100;

interface WithSentinel extends Installation {
  /** Two, of which one copies the other. */
  readonly redisServers: readonly [OwnRedis, OwnRedis];
  readonly sentinel: OwnRedis;
}

async function withSentinel(webhooksPort: number): Promise<WithSentinel> {
  await using parts = new AsyncDisposableStack();
  const primary = parts.use(await startRedis());
  const replica = parts.use(await startRedis(['--replicaof', '127.0.0.1', String(primary.port)]));
  const sentinel = parts.use(await startSentinel(primary.port));
  const engine = { type: 'redis', url: `redis+sentinel://127.0.0.1:${sentinel.port}/main` };
  const engines = [engine, engine];
  const installation = await severalServers(parts.move(), { engines, webhooksPort });
  return { ...installation, redisServers: [primary, replica], sentinel };
}

/** Waits until the sentinel knows a replica of the primary that has copied everything. Returns both. */
async function roles({ installation, pass }: Pick<Trial<WithSentinel>, 'installation' | 'pass'>) {
  const { redisServers, sentinel } = installation;
  const startedAtMs = performance.now();
  for (;;) {
    for (const [primary, replica] of [redisServers, redisServers.toReversed()]) {
      if (primary === undefined || replica === undefined) continue;
      const [own, its] = await Promise.all(
        [primary, replica].map((one) => askRedis(one, 'INFO', 'replication')),
      );
      const known = await askRedis(sentinel, 'INFO', 'sentinel');
      const isReady =
        /role:master/.test(own ?? '') &&
        /state=online/.test(own ?? '') &&
        /master_link_status:up/.test(its ?? '') &&
        new RegExp(`address=127\\.0\\.0\\.1:${primary.port},slaves=1`).test(known);
      if (isReady) return { primary, replica };
    }
    if (performance.now() - startedAtMs > COPIED_MAX_MS) throw new Error('There is no replica');
    await pass(LOOK_MS);
  }
}

/** Lets a replica take the place of its primary, without what the primary has taken last. */
async function failover(trial: Trial<WithSentinel>): Promise<void> {
  const { random } = trial;
  const { primary, replica } = await roles(trial);
  // It keeps what it has, and copies no more.
  await askRedis(replica, 'REPLICAOF', '127.0.0.1', '1');
  await trial.pass(random.between(0, NOT_COPIED_MAX_MS));
  const ms = FAILOVER_MS + random.between(0, GONE_MAX_MS);
  trial.fault('redis-lost', { ms });
  await primary.kill();
  trial.did('failover with writes lost');
  await trial.pass(ms);
  // It comes back as another primary, and the sentinel makes it a replica.
  await primary.start();
}

export function sentinelScenes({ times }: Amounts): readonly Scene[] {
  return [
    scene({
      name: 'redis: a replica takes its place, without the last writes',
      needs: ['redis-server'],
      start: withSentinel,
      async act(trial) {
        for (let done = 0; done < times; done++) {
          await trial.pass(trial.random.between(BETWEEN_MIN_MS, BETWEEN_MAX_MS));
          await failover(trial);
          await trial.settles();
        }
      },
    }),
  ];
}

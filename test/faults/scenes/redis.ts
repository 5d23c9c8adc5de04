import type { OwnRedis } from '../../../testing/servers/redis.ts';
import type { Amounts } from '../amounts.ts';
import { type OverRedis, twoServers } from '../installation.ts';
import { askRedis } from '../machine/ask-redis.ts';
import { type Scene, scene, type Trial } from '../trial.ts';

const BETWEEN_MIN_MS = 1000;
const BETWEEN_MAX_MS = 6000;
const SILENT_MS = 10_000;
const GONE_MAX_MS = 2000;

type Harm = (trial: Trial<OverRedis>, redis: OwnRedis) => Promise<void>;

async function silence(trial: Trial<OverRedis>, redis: OwnRedis): Promise<void> {
  trial.fault('redis-away', { ms: SILENT_MS });
  redis.signal('SIGSTOP');
  try {
    await trial.pass(SILENT_MS);
  } finally {
    redis.signal('SIGCONT');
  }
  trial.did(`Redis silent for ${SILENT_MS / 1000} s`);
}

async function empty(trial: Trial<OverRedis>, redis: OwnRedis): Promise<void> {
  const ms = trial.random.between(0, GONE_MAX_MS);
  trial.fault('redis-lost', { ms });
  await redis.kill();
  await trial.pass(ms);
  await redis.start();
  trial.did('Redis killed and empty');
}

/** Nothing may be noticed. */
async function forgetScripts(trial: Trial<OverRedis>, redis: OwnRedis): Promise<void> {
  await askRedis(redis, 'SCRIPT', 'FLUSH');
  trial.did('SCRIPT FLUSH');
}

async function endConnections(trial: Trial<OverRedis>, redis: OwnRedis): Promise<void> {
  const kind = trial.random.pick(['normal', 'pubsub']);
  trial.fault('redis-away');
  await askRedis(redis, 'CLIENT', 'KILL', 'TYPE', kind);
  trial.did(`CLIENT KILL TYPE ${kind}`);
}

/** What is done to Redis. */
const harms: Readonly<Record<string, Harm>> = {
  silent: silence,
  'killed, and started without data': empty,
  'without its scripts': forgetScripts,
  'ends connections': endConnections,
};

export function redisScenes({ times }: Amounts): readonly Scene[] {
  return Object.entries(harms).map(([name, harm]) =>
    scene({
      name: `redis: ${name}`,
      needs: ['redis-server'],
      start: twoServers,
      async act(trial) {
        for (let done = 0; done < times; done++) {
          await trial.pass(trial.random.between(BETWEEN_MIN_MS, BETWEEN_MAX_MS));
          await harm(trial, trial.installation.redis);
        }
        await trial.settles();
      },
    }),
  );
}

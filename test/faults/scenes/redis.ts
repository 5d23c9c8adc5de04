import type { OwnRedis } from '../../../testing/servers/redis.ts';
import { type OverRedis, twoServers } from '../installation.ts';
import { type Scene, scene, type Trial } from '../trial.ts';

/** What is done to Redis, as many times each. */
const TIMES = 3;
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
  await command(redis, ['SCRIPT', 'FLUSH']);
  trial.did('SCRIPT FLUSH');
}

async function endConnections(trial: Trial<OverRedis>, redis: OwnRedis): Promise<void> {
  const kind = trial.random.pick(['normal', 'pubsub']);
  trial.fault('redis-away');
  await command(redis, ['CLIENT', 'KILL', 'TYPE', kind]);
  trial.did(`CLIENT KILL TYPE ${kind}`);
}

async function command({ url }: OwnRedis, [name = '', ...args]: readonly string[]): Promise<void> {
  using client = disposable(url);
  await client.send(name, args);
}

function disposable(url: string) {
  const client = new Bun.RedisClient(url);
  return Object.assign(client, { [Symbol.dispose]: () => client.close() });
}

function redisScene(name: string, harm: Harm): Scene {
  return scene({
    name: `redis: ${name}`,
    needs: ['redis-server'],
    start: twoServers,
    async act(trial) {
      for (let done = 0; done < TIMES; done++) {
        await trial.pass(trial.random.between(BETWEEN_MIN_MS, BETWEEN_MAX_MS));
        await harm(trial, trial.installation.redis);
      }
      await trial.settles();
    },
  });
}

export const redisScenes: readonly Scene[] = [
  redisScene('silent', silence),
  redisScene('killed, and started without data', empty),
  redisScene('without its scripts', forgetScripts),
  redisScene('ends connections', endConnections),
];

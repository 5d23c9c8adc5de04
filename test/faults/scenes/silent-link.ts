import { startRedis } from '../../../testing/servers/redis.ts';
import type { Amounts } from '../amounts.ts';
import { type Installation, severalServers } from '../installation.ts';
import { type Lost, NETWORK_PROGRAMS, swallow, whyNoNetwork } from '../machine/namespace.ts';
import { type Scene, scene, type Trial } from '../trial.ts';

/** The address of the servers whose clients have a bad link. */
const CLIENTS_ADDRESS = '127.0.0.7';
/** The address of Redis for the second server. */
const REDIS_ADDRESS = '127.0.0.8';
/** So that a client and its server learn of a silent link within 12 s. */
const TIMEOUTS = { activityTimeoutSeconds: 8, pongTimeoutSeconds: 4 };
/** Longer than that. Milliseconds. */
const SILENT_MS = 25_000;
const BETWEEN_MIN_MS = 1000;
const BETWEEN_MAX_MS = 6000;
const LOST: readonly Lost[] = ['all', 'answers'];

/** Two servers. Some clients of each have an address that can be swallowed, and so has Redis for the second one. */
async function withBadLinks(webhooksPort: number): Promise<Installation> {
  await using parts = new AsyncDisposableStack();
  const { port } = parts.use(await startRedis(['--bind', `127.0.0.1 ${REDIS_ADDRESS}`]));
  const installation = await severalServers(parts.move(), {
    engines: ['127.0.0.1', REDIS_ADDRESS].map((host) => ({
      type: 'redis',
      url: `redis://${host}:${port}`,
    })),
    webhooksPort,
    settings: { channels: { host: '0.0.0.0', ...TIMEOUTS } },
  });
  const [first, second] = installation.ports;
  return {
    ...installation,
    clientsTo: [
      `http://127.0.0.1:${first}`,
      `http://${CLIENTS_ADDRESS}:${second}`,
      `http://127.0.0.1:${second}`,
      `http://${CLIENTS_ADDRESS}:${first}`,
    ],
  };
}

interface Silence {
  readonly address: string;
  readonly ms: number;
  readonly lost: Lost;
}

async function silence(trial: Trial<Installation>, { address, ms, lost }: Silence): Promise<void> {
  const letThrough = swallow(address, lost);
  try {
    await trial.pass(ms);
  } finally {
    letThrough();
  }
}

export function silentLinkScenes({ times, cutOffs }: Amounts): readonly Scene[] {
  const parts = {
    needs: [...NETWORK_PROGRAMS, 'redis-server'],
    lacks: whyNoNetwork,
    inOwnNetwork: true,
    start: withBadLinks,
  };
  return [
    scene({
      ...parts,
      name: 'silent-link: clients of two servers',
      async act(trial) {
        for (let done = 0; done < times; done++) {
          await trial.pass(trial.random.between(BETWEEN_MIN_MS, BETWEEN_MAX_MS));
          const lost = trial.random.pick(LOST);
          trial.fault('cut-off', { ms: SILENT_MS });
          await silence(trial, { address: CLIENTS_ADDRESS, ms: SILENT_MS, lost });
          trial.did(`links of clients silent for ${SILENT_MS / 1000} s`);
        }
        await trial.settles();
      },
    }),
    scene({
      ...parts,
      name: 'silent-link: one of two servers from Redis',
      async act(trial) {
        for (const seconds of cutOffs) {
          await trial.pass(trial.random.between(BETWEEN_MIN_MS, BETWEEN_MAX_MS));
          const ms = seconds * 1000;
          const lost = trial.random.pick(LOST);
          trial.fault('cut-off', { at: 1, ms });
          await silence(trial, { address: REDIS_ADDRESS, ms, lost });
          trial.did(`cut off from Redis for ${seconds} s`);
          await trial.settles();
        }
      },
    }),
  ];
}

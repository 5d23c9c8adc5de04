import type { FanfareOptions } from '../../testing/servers/fanfare.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import type { OwnRedis } from '../../testing/servers/redis.ts';
import { startAgain } from '../../testing/servers/restart.ts';
import { startCluster } from '../cluster/cluster.ts';

/** The channels of the app that keep a history begin so. */
export const KEPT = 'kept-';

/** Servers that are killed, paused and started again. */
export interface Installation extends AsyncDisposable {
  readonly ports: readonly number[];
  /** The Redis of several servers. */
  readonly redis: OwnRedis | undefined;
  /** Kills a server at once. */
  kill(at: number): Promise<void>;
  /** Starts a server that was killed, on the same port. */
  start(at: number): Promise<void>;
  signal(at: number, name: 'SIGSTOP' | 'SIGCONT'): void;
}

/** An app that needs every promise of Channels, and a server for it. */
function optionsOf(webhooksPort: number): FanfareOptions {
  return {
    app: {
      clientEvents: true,
      subscriptionCounts: true,
      history: [{ channels: `${KEPT}*`, seconds: 300, events: 1000 }],
      webhooks: [
        {
          url: `http://127.0.0.1:${webhooksPort}/`,
          events: ['channel_occupied', 'channel_vacated', 'member_added', 'member_removed'],
        },
      ],
    },
    config: { webhooks: { allowPrivateAddresses: true }, log: { level: 'warn', format: 'json' } },
  };
}

/** One server without Redis. */
export async function oneServer(webhooksPort: number, threads: number): Promise<Installation> {
  const server = await startFanfare({
    ...optionsOf(webhooksPort),
    threads,
    onlyOne: 'restart',
  });
  const environment = { FANFARE_REALTIME_THREADS: String(threads) };
  return installationOf([server], { environment, redis: undefined, owner: server });
}

/** Two servers over Redis and PostgreSQL. */
export async function twoServers(webhooksPort: number): Promise<Installation> {
  const cluster = await startCluster(2, optionsOf(webhooksPort));
  const { servers, redis } = cluster;
  return installationOf(servers, { environment: {}, redis, owner: cluster });
}

interface Parts {
  /** Of servers that are started again. */
  readonly environment: Readonly<Record<string, string>>;
  readonly redis: OwnRedis | undefined;
  /** Removes what the first servers have made. */
  readonly owner: AsyncDisposable;
}

function installationOf(
  first: readonly Fanfare[],
  { environment, redis, owner }: Parts,
): Installation {
  const running = [...first];
  const of = (at: number): Fanfare => {
    const server = running[at];
    if (server === undefined) throw new Error(`There is no server ${at}`);
    return server;
  };
  return {
    ports: first.map(({ port }) => port),
    redis,
    async kill(at) {
      await of(at).stop('SIGKILL');
    },
    async start(at) {
      running[at] = await startAgain(of(at), environment);
    },
    signal(at, name) {
      of(at).process.kill(name);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(running.map((server) => server[Symbol.asyncDispose]()));
      await owner[Symbol.asyncDispose]();
    },
  };
}

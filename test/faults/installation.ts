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
  /** Those that run at present. */
  readonly servers: readonly Fanfare[];
  /** Kills a server at once. */
  kill(at: number): Promise<void>;
  /** Starts a server that has ended, on the same port. */
  start(at: number): Promise<void>;
  signal(at: number, name: 'SIGSTOP' | 'SIGCONT'): void;
}

export interface OverRedis extends Installation {
  readonly redis: OwnRedis;
}

/** An app that needs every promise of Channels, and a server for it. */
export function optionsOf(webhooksPort: number): FanfareOptions {
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
  return installationOf([server], {
    owner: server,
    again: (ended) => startAgain(ended, environment),
  });
}

/** Two servers over Redis and PostgreSQL. */
export async function twoServers(webhooksPort: number): Promise<OverRedis> {
  const cluster = await startCluster(2, optionsOf(webhooksPort));
  const { servers, redis } = cluster;
  return Object.assign(installationOf(servers, { owner: cluster }), { redis });
}

interface Parts {
  /** Removes what the first servers have made. */
  readonly owner: AsyncDisposable;
  /** Starts a server in the place of one that has ended. */
  readonly again?: (ended: Fanfare) => Promise<Fanfare>;
}

export function installationOf(
  first: readonly Fanfare[],
  { owner, again = startAgain }: Parts,
): Installation {
  const running = [...first];
  const of = (at: number): Fanfare => {
    const server = running[at];
    if (server === undefined) throw new Error(`There is no server ${at}`);
    return server;
  };
  return {
    ports: first.map(({ port }) => port),
    servers: running,
    async kill(at) {
      await of(at).stop('SIGKILL');
    },
    async start(at) {
      running[at] = await again(of(at));
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

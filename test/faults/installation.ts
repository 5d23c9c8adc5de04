import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { throwAwayPostgres } from '../../testing/databases/postgres.ts';
import {
  configOf,
  type Fanfare,
  type FanfareOptions,
  spawnFanfare,
  startFanfare,
} from '../../testing/servers/fanfare.ts';
import { type OwnRedis, startRedis } from '../../testing/servers/redis.ts';
import { startAgain } from '../../testing/servers/restart.ts';

/** The channels of the app that keep a history begin so. */
export const KEPT = 'kept-';

/** Servers that are killed, paused and started again. */
export interface Installation extends AsyncDisposable {
  readonly ports: readonly number[];
  /** The URLs that clients use. */
  readonly clientsTo: readonly string[];
  /** Those that run at present. */
  readonly servers: readonly Fanfare[];
  /** Kills a server at once. */
  kill(at: number): Promise<void>;
  /** Stops a server as an operator does. */
  stop(at: number): Promise<void>;
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
    again: (ended) => startAgain(ended, { environment }),
  });
}

/** Two servers over Redis and PostgreSQL. */
export async function twoServers(webhooksPort: number): Promise<OverRedis> {
  await using parts = new AsyncDisposableStack();
  const redis = parts.use(await startRedis());
  const installation = await severalServers(parts.move(), {
    engines: [redis, redis].map(({ url }) => ({ type: 'redis', url })),
    webhooksPort,
  });
  return Object.assign(installation, { redis });
}

interface ServersOptions {
  /** How each server reaches Redis. */
  readonly engines: readonly object[];
  readonly webhooksPort: number;
  /** Over the settings of all servers. */
  readonly settings?: FanfareOptions;
  /** How a server is started. */
  readonly spawn?: (at: number) => typeof spawnFanfare;
}

/** Servers that share a database of their own, and Redis. `owner` ends with them. */
export async function severalServers(
  owner: AsyncDisposableStack,
  { engines, webhooksPort, settings, spawn = () => spawnFanfare }: ServersOptions,
): Promise<Installation> {
  await using parts = owner;
  const { url } = parts.use(await throwAwayPostgres());
  const options = optionsOf(webhooksPort);
  const servers: Fanfare[] = [];
  for (const [at, engine] of engines.entries()) {
    const directory = mkdtempSync(join(tmpdir(), 'fanfare-faults-server-'));
    parts.defer(() => rmSync(directory, { recursive: true, force: true }));
    const config = { ...options.config, ...settings?.config, engine, store: { url } };
    const file = join(directory, 'config.json');
    writeFileSync(file, JSON.stringify(configOf(directory, { ...options, ...settings, config })));
    servers.push(parts.use(await spawn(at)(['serve', '--config', file], directory)));
  }
  const running = parts.move();
  return installationOf(servers, {
    owner: { [Symbol.asyncDispose]: () => running.disposeAsync() },
    again: (ended, at) => startAgain(ended, { spawn: spawn(at) }),
  });
}

interface Parts {
  /** Removes what the first servers have made. */
  readonly owner: AsyncDisposable;
  /** Starts a server in the place of one that has ended. */
  readonly again?: (ended: Fanfare, at: number) => Promise<Fanfare>;
}

export function installationOf(
  first: readonly Fanfare[],
  { owner, again = (ended) => startAgain(ended) }: Parts,
): Installation {
  const running = [...first];
  const of = (at: number): Fanfare => {
    const server = running[at];
    if (server === undefined) throw new Error(`There is no server ${at}`);
    return server;
  };
  return {
    ports: first.map(({ port }) => port),
    clientsTo: first.map(({ port }) => `http://127.0.0.1:${port}`),
    servers: running,
    async kill(at) {
      await of(at).stop('SIGKILL');
    },
    async stop(at) {
      const exitCode = await of(at).stop('SIGTERM');
      if (exitCode !== 0) throw new Error(`Exit code ${exitCode}: ${of(at).output.stderr}`);
    },
    async start(at) {
      running[at] = await again(of(at), at);
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

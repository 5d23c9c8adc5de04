import { newStorePostgres, type ThrowAwayDatabase } from '../../testing/databases/postgres.ts';
import { type Fanfare, type FanfareOptions, startFanfare } from '../../testing/servers/fanfare.ts';
import { type OwnRedis, startRedis } from '../../testing/servers/redis.ts';
import { TcpProxy } from '../../testing/servers/tcp-proxy.ts';
import type { AppClient, TestApp } from '../../testing/servers/test-app.ts';
import { appAt } from '../../testing/servers/test-app.ts';

export const ROOM = 'presence-room';

/** Servers that share Redis and PostgreSQL. */
export interface Cluster extends AsyncDisposable {
  /** The first Redis. */
  readonly redis: OwnRedis;
  readonly redisServers: readonly OwnRedis[];
  readonly store: ThrowAwayDatabase;
  readonly servers: readonly Fanfare[];
  /** The same app at each server. */
  readonly apps: readonly TestApp[];
  /** Through which each server reaches Redis, if there is only one. */
  readonly proxies: readonly TcpProxy[];
  /** Starts one more server; `options` are over those of the others. */
  add(options?: FanfareOptions): Promise<Fanfare>;
}

export interface ClusterOptions extends FanfareOptions {
  /** How many Redis servers share the state; 1 by default. */
  readonly redisCount?: number;
  /** The address of a Redis Cluster, in place of these. */
  readonly redisCluster?: string;
}

/** Starts servers with a Redis and a database of their own. */
export async function startCluster(
  count: number,
  { redisCount = 1, redisCluster, ...options }: ClusterOptions = {},
): Promise<Cluster> {
  await using parts = new AsyncDisposableStack();
  const redis = parts.use(await startRedis());
  const redisServers = [redis];
  while (redisServers.length < redisCount) redisServers.push(parts.use(await startRedis()));
  const store = parts.use(await newStorePostgres());
  const servers: Fanfare[] = [];
  const proxies: TcpProxy[] = [];
  const add = async (owner: AsyncDisposableStack, more: FanfareOptions = {}) => {
    const proxy = owner.use(await TcpProxy.start(redis.port));
    const config = {
      engine: {
        type: 'redis',
        // All servers must have the same list.
        ...(redisCount === 1
          ? { url: redisCluster ?? proxy.url }
          : { urls: redisServers.map(({ url }) => url) }),
      },
      store: { url: store.url },
      webhooks: { allowPrivateAddresses: true },
      ...more.config,
    };
    const server = owner.use(await startFanfare({ ...options, ...more, config }));
    proxies.push(proxy);
    servers.push(server);
    return server;
  };
  for (let n = 0; n < count; n++) await add(parts);
  const running = parts.move();
  return {
    redis,
    redisServers,
    store,
    servers,
    proxies,
    get apps() {
      return servers.map(appAt);
    },
    add: (more) => add(running, more),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Lets a client enter the room as a user. */
export async function enters(app: TestApp, client: AppClient, userId: string): Promise<void> {
  await client.subscribe(ROOM, app.auth(client, ROOM, JSON.stringify({ user_id: userId })));
}

/** The users of the room, as one server sees it. */
export async function usersAt(app: TestApp): Promise<readonly string[]> {
  const response = await app.api('GET', `/channels/${ROOM}/users`);
  const { users } = (await response.json()) as { users: { id: string }[] };
  return users.map(({ id }) => id);
}

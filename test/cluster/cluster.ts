import { type ThrowAwayDatabase, throwAwayPostgres } from '../../testing/databases/postgres.ts';
import { type Fanfare, type FanfareOptions, startFanfare } from '../../testing/servers/fanfare.ts';
import { type OwnRedis, startRedis } from '../../testing/servers/redis.ts';
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
}

export interface ClusterOptions extends FanfareOptions {
  /** How many Redis servers share the state; 1 by default. */
  readonly redisCount?: number;
}

/** Starts servers with a Redis and a database of their own. */
export async function startCluster(
  count: number,
  { redisCount = 1, ...options }: ClusterOptions = {},
): Promise<Cluster> {
  await using parts = new AsyncDisposableStack();
  const redis = parts.use(await startRedis());
  const redisServers = [redis];
  while (redisServers.length < redisCount) redisServers.push(parts.use(await startRedis()));
  const store = parts.use(await throwAwayPostgres());
  const config = {
    engine: {
      type: 'redis',
      ...(redisCount === 1 ? { url: redis.url } : { urls: redisServers.map(({ url }) => url) }),
    },
    store: { url: store.url },
    webhooks: { allowPrivateAddresses: true },
  };
  const servers: Fanfare[] = [];
  for (let n = 0; n < count; n++) {
    servers.push(parts.use(await startFanfare({ ...options, config })));
  }
  const running = parts.move();
  return {
    redis,
    redisServers,
    store,
    servers,
    apps: servers.map(appAt),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Lets a client enter the room as a user. */
export async function enters(app: TestApp, client: AppClient, userId: string): Promise<void> {
  await client.subscribes(ROOM, app.auth(client, ROOM, JSON.stringify({ user_id: userId })));
}

/** The users of the room, as one server sees it. */
export async function usersAt(app: TestApp): Promise<readonly string[]> {
  const response = await app.api('GET', `/channels/${ROOM}/users`);
  const { users } = (await response.json()) as { users: { id: string }[] };
  return users.map(({ id }) => id);
}

import { monotonicTimers } from '../../runtime/system-timers.ts';
import { RedisEngine, type RedisEngineOptions } from './engine.ts';
import { RedisServer, type RedisServerOptions } from './link/redis-server.ts';
import { ALL_SCRIPTS } from './scripts/all-scripts.ts';

export interface OpenRedisEngineOptions
  extends Omit<RedisEngineOptions, 'openLinks' | 'timers'>,
    Pick<RedisServerOptions, 'tls' | 'user' | 'password' | 'sentinelUser' | 'sentinelPassword'> {
  /** One for each server, in the same order on all nodes. */
  readonly urls: readonly string[];
}

/** Connects to all servers and returns the engine over them. Closing it closes the connections. */
export async function openRedisEngine(options: OpenRedisEngineOptions): Promise<RedisEngine> {
  const { urls, keyPrefix, ...parts } = options;
  return await RedisEngine.open({
    ...parts,
    keyPrefix,
    timers: monotonicTimers,
    openLinks: urls.map(
      (url) => async (listener) =>
        RedisServer.open({
          ...parts,
          url,
          listener,
          prefix: keyPrefix,
          timers: monotonicTimers,
          scripts: ALL_SCRIPTS,
        }),
    ),
  });
}

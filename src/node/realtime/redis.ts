import type { Config } from '../../config/schema.ts';
import { RedisEngine, type RedisEngineOptions } from '../../engines/redis/engine.ts';
import { RedisServer } from '../../engines/redis/link/redis-server.ts';
import { ALL_SCRIPTS } from '../../engines/redis/scripts/all-scripts.ts';
import { monotonicTimers } from '../../runtime/system-timers.ts';

type RedisSettings = Extract<Config['engine'], { type: 'redis' }>;

/** The engine over Redis, with the connections that are its own. */
export class RedisPart {
  readonly engine: RedisEngine;
  private readonly servers: RedisServer[] = [];

  constructor(
    { url, keyPrefix }: RedisSettings,
    options: Omit<RedisEngineOptions, 'keyPrefix' | 'openLinks'>,
  ) {
    const { log } = options;
    this.engine = new RedisEngine({
      ...options,
      keyPrefix,
      openLinks: [
        async (listener) => {
          const server = await RedisServer.open({
            url,
            log,
            timers: monotonicTimers,
            prefix: keyPrefix,
            scripts: ALL_SCRIPTS,
            listener: {
              ...listener,
              onMessage: listener.onMessage,
              onGap: listener.onGap,
              onAway(why) {
                log.error('Redis cannot be used', { why });
                listener.onAway(why);
              },
              onBack() {
                log.info('Redis can be used again');
                listener.onBack();
              },
            },
          });
          this.servers.push(server);
          return server;
        },
      ],
    });
  }

  async close(): Promise<void> {
    await this.engine.close();
    await Promise.all(this.servers.map((server) => server.close()));
  }
}

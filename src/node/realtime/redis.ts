import type { Config } from '../../config/schema.ts';
import { RedisEngine, type RedisEngineOptions } from '../../engines/redis/engine.ts';
import { RedisServer } from '../../engines/redis/link/redis-server.ts';
import { RedisRefused } from '../../engines/redis/link/reply.ts';
import { ALL_SCRIPTS } from '../../engines/redis/scripts/all-scripts.ts';
import { messageOf } from '../../runtime/error-code.ts';
import { monotonicTimers } from '../../runtime/system-timers.ts';
import type { EngineAway } from '../../transports/admin/readiness.ts';
import { StartFailed } from '../start-failed.ts';

type RedisSettings = Extract<Config['engine'], { type: 'redis' }>;

export interface RedisPartOptions extends Omit<RedisEngineOptions, 'keyPrefix' | 'openLinks'> {
  /** Called when the engine cannot be used any more, or can be used again. */
  readonly onState: (away: EngineAway | undefined) => void;
}

/** The engine over Redis, with the connections that are its own. */
export class RedisPart {
  readonly engine: RedisEngine;
  private readonly servers: RedisServer[] = [];

  constructor({ url, keyPrefix }: RedisSettings, options: RedisPartOptions) {
    const { log, onState } = options;
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
              onMessage: (channel, payload) => listener.onMessage(channel, payload),
              onGap: (why) => listener.onGap(why),
              onAway(why) {
                onState({ sinceMs: Date.now(), why });
                listener.onAway(why);
              },
              onBack() {
                onState(undefined);
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

  async start(): Promise<void> {
    try {
      await this.engine.start();
    } catch (error) {
      const exitCode = error instanceof RedisRefused ? 2 : 1;
      throw new StartFailed(
        { exitCode, message: `engine.url: ${messageOf(error)}` },
        { cause: error },
      );
    }
  }

  async close(): Promise<void> {
    await this.engine.close();
    await Promise.all(this.servers.map((server) => server.close()));
  }
}

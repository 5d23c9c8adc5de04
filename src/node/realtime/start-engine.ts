import type { RedisEngine } from '../../engines/redis/engine.ts';
import { RedisRefused } from '../../engines/redis/link/reply.ts';
import { messageOf } from '../../runtime/error-code.ts';
import { StartFailed } from '../start-failed.ts';

/** Connects an engine to Redis. Throws `StartFailed` if Redis cannot be reached or cannot be used. */
export async function startRedisEngine(engine: RedisEngine): Promise<void> {
  try {
    await engine.start();
  } catch (error) {
    const exitCode = error instanceof RedisRefused ? 2 : 1;
    const message = `engine.url: ${messageOf(error)}`;
    throw new StartFailed({ exitCode, message }, { cause: error });
  }
}

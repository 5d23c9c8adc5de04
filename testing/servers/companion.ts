import { startFanfare } from './fanfare.ts';
import { sharedRedis } from './redis.ts';

/** A server to which others belong, so that they are not alone when they stop. */
export interface Companion extends AsyncDisposable {
  /** What makes a server belong to it; for the configuration. */
  readonly config: object;
}

export async function startCompanion(): Promise<Companion> {
  const engine = { type: 'redis', url: await sharedRedis(), keyPrefix: `${crypto.randomUUID()}:` };
  const config = { engine, push: { port: 0, instances: [] } };
  const server = await startFanfare({ threads: 1, config });
  return { config, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

import type { OwnRedis } from '../../../testing/servers/redis.ts';

/** Sends one command to a Redis, past everything that is tested, and returns its answer as text. */
export async function askRedis(
  { url }: OwnRedis,
  name: string,
  ...args: readonly string[]
): Promise<string> {
  const client = new Bun.RedisClient(url);
  try {
    return String(await client.send(name, [...args]));
  } finally {
    client.close();
  }
}

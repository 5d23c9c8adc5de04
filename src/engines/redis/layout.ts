import { PARTITIONS } from '../partition.ts';
import { RedisRefused } from './link/reply.ts';
import type { RedisLink } from './redis-link.ts';

/** Changes whenever nodes of two versions could not share their data. */
const VERSION = 1;

/**
 * Marks a server as the one at this position. Rejects with `RedisRefused` if nodes with another layout use it, so that the
 * state is never split.
 */
export async function checkLayout(
  link: RedisLink,
  at: { readonly keyPrefix: string; readonly servers: number; readonly index: number },
): Promise<void> {
  const key = `${at.keyPrefix}layout`;
  const layout = `version ${VERSION}, ${PARTITIONS} partitions, server ${at.index + 1} of ${at.servers}`;
  await link.commands.run(['SET', key, layout, 'NX']);
  const found = await link.commands.run(['GET', key]);
  if (found !== layout) {
    throw new RedisRefused(
      `Redis holds data of another layout (${found}); this node has: ${layout}. Stop all other nodes and delete the key ${key}, or use another key prefix`,
    );
  }
}

import { PARTITIONS } from '../partition.ts';
import { RedisRefused } from './link/reply.ts';
import type { RedisLink } from './redis-link.ts';

/** Changes whenever nodes of two versions could not share their data. */
const VERSION = 1;

export interface LayoutOptions {
  readonly keyPrefix: string;
  /** The names of all servers, in their order. */
  readonly servers: readonly string[];
  /** Which of them the link leads to. */
  readonly index: number;
}

/**
 * Marks a server as the one at this position. Rejects with `RedisRefused` if nodes with another layout or another list of
 * servers use it, so that the state is never split.
 */
export async function checkLayout(
  link: RedisLink,
  { keyPrefix, servers, index }: LayoutOptions,
): Promise<void> {
  const key = `${keyPrefix}layout`;
  const count = servers.length;
  // One server may have another name on each node.
  const list = count > 1 ? `: ${servers.join(' ')}` : '';
  const layout = `version ${VERSION}, ${PARTITIONS} partitions, server ${index + 1} of ${count}${list}`;
  await link.commands.run(['SET', key, layout, 'NX']);
  const found = await link.commands.run(['GET', key]);
  if (found !== layout) {
    throw new RedisRefused(
      `Redis holds data of another layout (${found}); this node has: ${layout}. Stop all other nodes and delete the key ${key}, or use another key prefix`,
    );
  }
}

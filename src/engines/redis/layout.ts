import { PARTITIONS } from '../partition.ts';
import { RedisRefused, type Reply } from './link/reply.ts';
import type { RedisLink } from './redis-link.ts';

/** Changes whenever nodes of two versions cannot share their data. */
const VERSION = 1;

export interface LayoutOptions {
  readonly keyPrefix: string;
  /** The names of all servers, in their order. */
  readonly servers: readonly string[];
  /** The index of the server that the link leads to. */
  readonly index: number;
}

/**
 * Marks a server as the one at this index. Rejects with `RedisRefused` if nodes with another layout or another list
 * of servers use it, so that the state is never split.
 */
export async function checkLayout(link: RedisLink, options: LayoutOptions): Promise<void> {
  const key = layoutKey(options);
  await link.commands.run(['SET', key, layoutOf(options), 'NX']);
  const found = await link.commands.run(['GET', key]);
  const why = refusalOf(found, options);
  if (why !== undefined) throw new RedisRefused(why);
}

/** The key of the mark. */
export function layoutKey({ keyPrefix }: Pick<LayoutOptions, 'keyPrefix'>): string {
  return `${keyPrefix}layout`;
}

/** Why a server with this mark cannot be used; `undefined` if it can. */
export function refusalOf(found: Reply, options: LayoutOptions): string | undefined {
  const layout = layoutOf(options);
  if (found === layout) return undefined;
  return `Redis holds data of another layout (${found}); this node has: ${layout}. Stop all other nodes and delete the key ${layoutKey(options)}, or use another key prefix`;
}

function layoutOf({ servers, index }: LayoutOptions): string {
  const count = servers.length;
  // The same server may have a different name on each node.
  const list = count > 1 ? `: ${servers.join(' ')}` : '';
  return `version ${VERSION}, ${PARTITIONS} partitions, server ${index + 1} of ${count}${list}`;
}

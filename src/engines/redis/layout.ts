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
  /** The number of its database. */
  readonly database: number;
}

/** Sends one command to Redis. */
type Run = (command: readonly string[]) => Promise<Reply>;

/**
 * The prefix of the names of streams. Redis delivers what is published in one database to the subscribers in all of
 * them, so a number other than 0 is in the names.
 */
export function streamPrefix(keyPrefix: string, database: number): string {
  return database === 0 ? keyPrefix : `${keyPrefix}db${database}:`;
}

/** The prefixes of the keys and streams of a partition. `streams` is `undefined` where scripts make it of that of the keys. */
export function partitionNames(
  keyPrefix: string,
  { number, database }: { readonly number: number; readonly database: number },
): { readonly keys: string; readonly streams: string | undefined } {
  const part = `{${number}}`;
  const streams = database === 0 ? undefined : `${streamPrefix(keyPrefix, database)}${part}t:`;
  return { keys: `${keyPrefix}${part}`, streams };
}

/**
 * Marks a server as the one at this index. Rejects with `RedisRefused` if nodes with another layout or another list
 * of servers use it, so that the state is never split.
 */
export async function checkLayout(link: RedisLink, options: LayoutOptions): Promise<void> {
  const run: Run = (command) => link.commands.run(command);
  const key = layoutKey(options);
  await run(['SET', key, layoutOf(options), 'NX']);
  const why = await refusal(run, options);
  if (why !== undefined) throw new RedisRefused(why);
  await run(['SET', key, layoutOf(options)]);
}

/** Why a server cannot be used; `undefined` if it can. Changes nothing. */
export async function refusal(run: Run, options: LayoutOptions): Promise<string | undefined> {
  const found = await run(['GET', layoutKey(options)]);
  if (found === null || found === layoutOf(options)) return undefined;
  if (found !== formerLayoutOf(options)) return refusalOf(found, options);
  if (!(await hasLivingNodes(run, options))) return undefined;
  // A node of this version may have marked it in the meantime, and lives now.
  const now = await run(['GET', layoutKey(options)]);
  return now === layoutOf(options) ? undefined : refusalOf(now, options);
}

/** The key of the mark. */
export function layoutKey({ keyPrefix }: Pick<LayoutOptions, 'keyPrefix'>): string {
  return `${keyPrefix}layout`;
}

function refusalOf(found: Reply, options: LayoutOptions): string {
  const layout = layoutOf(options);
  if (found === formerLayoutOf(options)) {
    return `Servers of an older version run on this Redis, and messages of its database ${options.database} now have other names. Stop all of them first; one that was killed counts for 10 s more`;
  }
  return `Redis holds data of another layout (${found}); this node has: ${layout}. Stop all other nodes and delete the key ${layoutKey(options)}, or use another key prefix`;
}

function layoutOf(options: LayoutOptions): string {
  return describe(options, options.database);
}

/** The mark of versions that named the streams of all databases alike. */
function formerLayoutOf(options: LayoutOptions): string {
  return describe(options, 0);
}

function describe({ servers, index }: LayoutOptions, database: number): string {
  const count = servers.length;
  const streams = database === 0 ? '' : `, streams of database ${database}`;
  // The same server may have a different name on each node.
  const list = count > 1 ? `: ${servers.join(' ')}` : '';
  return `version ${VERSION}, ${PARTITIONS} partitions, server ${index + 1} of ${count}${streams}${list}`;
}

/** Whether a node holds a lease. Each node has one in every partition, and the first partition of a server has its index. */
async function hasLivingNodes(run: Run, { keyPrefix, index }: LayoutOptions): Promise<boolean> {
  const time = await run(['TIME']);
  const nowMs = Array.isArray(time) ? Number(time[0]) * 1000 : 0;
  return Number(await run(['ZCOUNT', `${keyPrefix}{${index}}L`, String(nowMs), '+inf'])) > 0;
}

import { PARTITIONS } from '../partition.ts';
import { SLOTS } from './link/cluster/slots.ts';
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
  readonly place: Place;
}

/** Where the keys of a server lie. */
export interface Place {
  /** The number of the database. Redis delivers published messages to all databases. */
  readonly database: number;
  /** The tag of the slot of a cluster. */
  readonly tag?: string | undefined;
}

/** Sends one command to Redis. */
type Run = (command: readonly string[]) => Promise<Reply>;

/** What all keys of a place begin with. */
export function placeKeys(keyPrefix: string, { tag }: Place): string {
  return tag === undefined ? keyPrefix : `${keyPrefix}{${tag}}`;
}

/**
 * The prefix of the names of streams. Redis delivers what is published in one database to the subscribers in all of
 * them, so a number other than 0 is in the names.
 */
export function streamPrefix(keyPrefix: string, place: Place): string {
  const keys = placeKeys(keyPrefix, place);
  return place.database === 0 ? keys : `${keys}db${place.database}:`;
}

/** The prefixes of the keys and streams of a partition. `streams` is `undefined` where scripts make it of that of the keys. */
export function partitionNames(
  keyPrefix: string,
  { number, place }: { readonly number: number; readonly place: Place },
): { readonly keys: string; readonly streams: string | undefined } {
  // All partitions of a slot have its tag. No value lies under this name itself.
  if (place.tag !== undefined) {
    return { keys: `${placeKeys(keyPrefix, place)}${number}:`, streams: undefined };
  }
  const part = `{${number}}`;
  const streams = place.database === 0 ? undefined : `${streamPrefix(keyPrefix, place)}${part}t:`;
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
export function layoutKey({
  keyPrefix,
  place,
}: Pick<LayoutOptions, 'keyPrefix' | 'place'>): string {
  return `${placeKeys(keyPrefix, place)}layout`;
}

function refusalOf(found: Reply, options: LayoutOptions): string {
  const layout = layoutOf(options);
  if (found === formerLayoutOf(options)) {
    return `Servers of an older version run on this Redis, and messages of its database ${options.place.database} now have other names. Stop all of them first; one that was killed counts for 10 s more`;
  }
  return `Redis holds data of another layout (${found}); this node has: ${layout}. Stop all other nodes and delete the key ${layoutKey(options)}, or use another key prefix`;
}

function layoutOf(options: LayoutOptions): string {
  return describe(options, options.place.database);
}

/** The mark of versions that named the streams of all databases alike. */
function formerLayoutOf(options: LayoutOptions): string {
  return describe(options, 0);
}

function describe({ servers, index, place }: LayoutOptions, database: number): string {
  if (place.tag !== undefined) {
    return `version ${VERSION}, ${PARTITIONS} partitions, slot ${index + 1} of ${SLOTS.length}`;
  }
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

import type { Config } from '../../config/schema.ts';
import { hasTls } from '../../config/settings/has-tls.ts';
import { REMEMBERED_MAX } from '../../engines/remembered.ts';
import type { metricRows } from '../../observability/metrics-table.ts';
import { deliveryLimits } from '../../push/delivering/limits.ts';
import { adminBounds } from '../../transports/admin/bounds.ts';
import { FRAME_BYTES_MAX } from '../../transports/clients/frames/frame-queue.ts';
import { pushBounds } from '../../transports/push-api/bounds.ts';
import { ACCEPTED_CHARACTERS_MAX } from '../../webhooks/limits.ts';
import type { OpenFiles } from '../open-files.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const GIB = 1024 * MIB;

/** From this memory on, all bounds are the usual ones. */
export const PLENTY_BYTES = 16 * GIB;

/** The smallest memory with which tests run a server at all of its bounds at once. */
export const SUPPORTED_BYTES = 256 * MIB;

/** The memory of a server with one realtime thread, garbage of its work included, and of each further thread. */
const OWN_BYTES = 104 * MIB;
const THREAD_BYTES = 24 * MIB;

/** What the kernel takes of a connection in advance. It fills a packet up, so it holds up to 50 KiB for a client that does not read. */
const UNSENT_BYTES = 16 * KIB;

/** The bounds that memory sets. Those of realtime loops are for all of them, unless something else is said. */
export interface MemoryShares {
  readonly connections: number;
  readonly subscriptions: number;
  /** Bytes that the kernel holds for all TCP connections, whoever has opened them. */
  readonly socketBytes: number;
  readonly waitingBytes: number;
  readonly historyBytes: number;
  /** Characters of the data of cached events. */
  readonly cachedCharacters: number;
  /** Cached events, and as many idempotency keys and idle histories. */
  readonly rememberedItems: number;
  /** Bytes of bodies of the HTTP API, and as much each for bodies of HTTP transports, unread answers and closed WebSockets. */
  readonly unfinishedBytes: number;
  /** Bytes of frames of clients that wait for their turn, on each loop. */
  readonly frameBytes: number;
  /** Characters of webhook events in front of the background loop, and as much each behind it for apps and for push. */
  readonly webhookCharacters: number;
  readonly pushConnections: number;
  /** Bytes of bodies and unread answers with a secret key, and as much of those without. */
  readonly pushHeldBytes: number;
  /** Devices on their way to gateways. */
  readonly pushDevices: number;
  readonly adminUnreadBytes: number;
}

export type ShareName = keyof MemoryShares;

export type ShareLabel = (typeof metricRows.memoryShare.label.values)[number];

/** How shares are called in the log and in metrics. */
export const shareLabels = {
  connections: 'connections',
  subscriptions: 'subscriptions',
  socketBytes: 'sockets',
  waitingBytes: 'unread',
  historyBytes: 'histories',
  cachedCharacters: 'cached-events',
  rememberedItems: 'remembered',
  unfinishedBytes: 'bodies',
  frameBytes: 'frames',
  webhookCharacters: 'webhooks',
  pushConnections: 'push-connections',
  pushHeldBytes: 'push-bodies',
  pushDevices: 'push-devices',
  adminUnreadBytes: 'admin-answers',
} as const satisfies Readonly<Record<ShareName, ShareLabel>>;

/** How one bound follows from the memory. */
interface Share {
  /** The bound on a machine with plenty of memory. */
  readonly usual: number;
  /** What the operator has set. */
  readonly set: number | undefined;
  /** Below this, the server would not work. */
  readonly least: number;
  /** The bytes of memory that one of the unit takes, measured. */
  readonly cost: number;
  /** The part of what is to be shared, relative to the others. */
  readonly weight: number;
}

export interface SharesOptions {
  readonly memoryBytes: number;
  readonly config: Pick<Config, 'channels' | 'push' | 'tls' | 'engine'>;
  /** The number of realtime loops. */
  readonly threads: number;
  readonly openFiles: Pick<OpenFiles, 'connections' | 'push'> | undefined;
}

/** How the memory is divided. */
export interface MemoryPlan {
  readonly memoryBytes: number;
  /** What the server takes itself. */
  readonly ownBytes: number;
  readonly shares: MemoryShares;
  /** What each share takes of the memory if it is full. */
  readonly costs: MemoryShares;
  /** What one of the unit of each share takes. Bytes. */
  readonly unitCosts: MemoryShares;
  /** Whether all bounds are the usual ones, whatever they take together. */
  readonly isPlenty: boolean;
  /** What the server needs if all shares are as small as possible. */
  readonly leastBytes: number;
  /** What the settings of the operator take beyond the memory; 0: they fit. */
  readonly excessBytes: number;
  /** The bound of what the kernel takes of an unread connection in advance; `undefined`: its own. */
  readonly unsentBytes: number | undefined;
}

/**
 * Divides the memory among everything that can grow, so that a server survives if all of it is full at the same moment. Each
 * share gets its part by weight, at most its usual bound; what is left over goes to the others. What the operator has set stays
 * as it is.
 */
export function shareMemory(options: SharesOptions): MemoryPlan {
  const { memoryBytes, threads } = options;
  const table = sharesOf(options);
  const names = Object.keys(table) as ShareName[];
  const ownBytes = OWN_BYTES + (threads - 1) * THREAD_BYTES;
  const leastBytes = ownBytes + sumOf(names, (name) => leastOf(table[name]));
  const isPlenty = memoryBytes >= PLENTY_BYTES;
  const roomBytes = memoryBytes - ownBytes;
  const level = isPlenty ? Number.POSITIVE_INFINITY : levelOf(names, table, roomBytes);
  const shares = mapShares(table, (share) => boundAt(share, level));
  const takenBytes = sumOf(names, (name) => costAt(table[name], level));
  const hasSet = names.some((name) => table[name].set !== undefined);
  return {
    memoryBytes,
    ownBytes,
    shares,
    costs: mapShares(table, (share) => Math.round(costAt(share, level))),
    unitCosts: mapShares(table, ({ cost }) => cost),
    isPlenty,
    leastBytes,
    excessBytes: hasSet && !isPlenty ? Math.max(0, Math.ceil(takenBytes - roomBytes)) : 0,
    unsentBytes: isPlenty ? undefined : UNSENT_BYTES,
  };
}

/** The rows of all bounds. Figures were measured; see `bench/notes/`. */
function sharesOf({ memoryBytes, config, threads, openFiles }: SharesOptions) {
  const { channels, push } = config;
  // Over Redis, what is remembered is in the memory of Redis.
  const isRemembered = config.engine.type === 'memory' ? 1 : 0;
  return {
    connections: {
      usual: openFiles?.connections ?? Number.POSITIVE_INFINITY,
      set: givenCount(channels.maxConnections),
      least: 100,
      // Idle 7 KiB, with TLS 20 KiB; and a third as many HTTP connections beside them, which are idle.
      cost: hasTls(config) ? 30 * KIB : 10 * KIB,
      weight: 25,
    },
    subscriptions: {
      usual: Math.floor(memoryBytes / 2 / USUAL_SUBSCRIPTION_BYTES),
      set: givenCount(channels.maxSubscriptions),
      least: 500,
      cost: 1.5 * KIB,
      weight: 16,
    },
    socketBytes: {
      usual: Number.POSITIVE_INFINITY,
      set: undefined,
      least: 2 * MIB,
      cost: 1,
      weight: 18,
    },
    waitingBytes: {
      usual: Math.floor(memoryBytes / 4),
      set: givenCount(channels.waitingBytes),
      least: MIB,
      // Between two checks of the waiting bytes, a quarter more may be published.
      cost: 1.5,
      weight: 18,
    },
    historyBytes: {
      usual: 128 * MIB,
      set: given(channels.historyBytes),
      least: MIB / 4,
      // With garbage until it is collected.
      cost: 3.5 * isRemembered,
      weight: 11,
    },
    cachedCharacters: {
      usual: REMEMBERED_MAX.cachedCharacters,
      set: undefined,
      least: MIB / 4,
      // Two bytes each, with garbage.
      cost: 4 * isRemembered,
      weight: 8,
    },
    rememberedItems: {
      usual: REMEMBERED_MAX.items,
      set: undefined,
      least: 1_000,
      // One of each kind.
      cost: 1_600 * isRemembered,
      weight: 4,
    },
    unfinishedBytes: {
      usual: 128 * MIB,
      set: given(channels.unfinishedBytes),
      least: channels.requestBytes * threads,
      // Bodies twice, both kinds; answers twice; closed WebSockets.
      cost: 7,
      weight: 12,
    },
    frameBytes: {
      usual: FRAME_BYTES_MAX,
      set: undefined,
      least: 2 * channels.clientFrameBytes,
      cost: 2 * threads,
      weight: 4,
    },
    webhookCharacters: {
      usual: ACCEPTED_CHARACTERS_MAX,
      set: undefined,
      least: MIB / 4,
      // Three times, and events for push rules on each loop, a quarter.
      cost: 9 + threads * 0.75,
      weight: 6,
    },
    pushConnections: {
      usual: Math.min(pushBounds.connections, openFiles?.push ?? Number.POSITIVE_INFINITY),
      set: given(push.maxConnections),
      least: 50,
      cost: hasTls(config) ? 60 * KIB : 24 * KIB,
      weight: 6,
    },
    pushHeldBytes: {
      usual: pushBounds.heldBytes,
      set: undefined,
      least: 2 * MIB,
      cost: 3,
      weight: 5,
    },
    pushDevices: {
      usual: deliveryLimits.sharedDevices,
      set: undefined,
      least: deliveryLimits.platformDevices,
      cost: KIB,
      weight: 3,
    },
    adminUnreadBytes: {
      usual: adminBounds.unreadBytes,
      set: undefined,
      least: 2 * MIB,
      cost: 1.5,
      weight: 3,
    },
  } satisfies Record<ShareName, Share>;
}

/** With plenty of memory, half of it holds subscriptions of this size. */
const USUAL_SUBSCRIPTION_BYTES = 2 * KIB;

function given(setting: number | 'auto'): number | undefined {
  return setting === 'auto' ? undefined : setting;
}

function givenCount(setting: number): number | undefined {
  return setting === 0 ? undefined : setting;
}

function leastOf({ set, least, usual, cost }: Share): number {
  return (set ?? Math.min(least, usual)) * cost;
}

/** What a share takes if each unit of weight gets so many bytes. */
function costAt(share: Share, level: number): number {
  const { set, usual, cost, weight } = share;
  if (set !== undefined) return set * cost;
  return Math.min(usual * cost, Math.max(leastOf(share), level * weight));
}

function boundAt(share: Share, level: number): number {
  const { set, usual, cost } = share;
  if (set !== undefined) return set;
  return cost === 0 ? usual : Math.min(usual, Math.floor(costAt(share, level) / cost));
}

/** How precisely the level is searched. Halving as often reaches a byte. */
const HALVINGS = 60;

/** Returns how many bytes each unit of weight may get, so that all shares together fit. */
function levelOf(
  names: readonly ShareName[],
  table: Readonly<Record<ShareName, Share>>,
  roomBytes: number,
): number {
  let low = 0;
  let high = Math.max(0, roomBytes);
  for (let halving = 0; halving < HALVINGS; halving++) {
    const level = (low + high) / 2;
    if (sumOf(names, (name) => costAt(table[name], level)) <= roomBytes) low = level;
    else high = level;
  }
  return low;
}

function sumOf(names: readonly ShareName[], of: (name: ShareName) => number): number {
  return names.reduce((sum, name) => sum + of(name), 0);
}

function mapShares(
  table: Readonly<Record<ShareName, Share>>,
  of: (share: Share) => number,
): MemoryShares {
  const entries = Object.entries(table).map(([name, share]) => [name, of(share)]);
  return Object.fromEntries(entries) as Record<ShareName, number>;
}

import type { TapEvent, TapKind } from '../channels/watching/tap.ts';
import type { Platform } from '../push/model/device.ts';
import type { PushTapEvent, PushTapKind } from '../push/watching/push-tap.ts';

/** The kinds of records about apps and about push instances. No kind belongs to both. */
export type WatchedKind = TapKind | PushTapKind;

/** What happens in an app or in a push instance. */
export interface WatchedEvent extends Omit<TapEvent, 'kind'>, Omit<PushTapEvent, 'kind'> {
  readonly kind: WatchedKind;
}

/** The prefix of the id by which an instance is watched. The id of an app contains no slash. */
const INSTANCE = 'push/';

/** The id by which an instance is watched. */
export function watchedInstance(instance: string): string {
  return `${INSTANCE}${instance}`;
}

/** The instance that is watched under an id; `undefined`: it is the id of an app. */
export function instanceIn(watched: string): string | undefined {
  return watched.startsWith(INSTANCE) ? watched.slice(INSTANCE.length) : undefined;
}

/** One event as watchers see it. Texts are truncated. */
export interface TapRecord extends WatchedEvent {
  /** Milliseconds since 1970. */
  readonly atMs: number;
  /** The full length of the data. */
  readonly bytes?: number | undefined;
  /** Identifies the record among those of all loops. Only set if its receivers are counted. */
  readonly trace?: string | undefined;
  /** How many subscribers of this loop have been sent it so far. */
  receivers?: number | undefined;
}

/** Counts by kind. A missing kind is 0. */
export type ByKind = Readonly<Partial<Record<WatchedKind, number>>>;

/** Counts by name. */
export interface NamedCount {
  readonly name: string;
  readonly events: number;
}

/** What happened in an app or an instance during one second. */
export interface TapCounts {
  readonly kinds: ByKind;
  /** The busiest channels; for an instance, publishes. */
  readonly channels: readonly NamedCount[];
  /** The most frequent events; for an instance, reasons. */
  readonly names: readonly NamedCount[];
}

/** What one loop has recorded about one app or instance since its last tick. */
export interface AppTick {
  /** The id by which it is watched. */
  readonly appId: string;
  /** Identifies the loop among those of all servers. */
  readonly loop: string;
  readonly records: readonly TapRecord[];
  /** Receivers of events that other loops have recorded. The name goes between servers of different releases. */
  readonly heard: readonly (readonly [trace: string, receivers: number])[];
  /** Records that were wanted and dropped for lack of room. */
  readonly skipped: ByKind;
  /** Sent once a second. */
  readonly counts?: TapCounts | undefined;
}

/** A watcher's filter. All given fields must match. */
export interface WatchFilter {
  readonly kinds?: readonly WatchedKind[] | undefined;
  readonly channel?: string | undefined;
  /** A prefix of the channel's name. */
  readonly prefix?: string | undefined;
  readonly socket?: string | undefined;
  readonly user?: string | undefined;
  readonly publish?: string | undefined;
  readonly device?: string | undefined;
  readonly platform?: Platform | undefined;
}

/** A watched app or instance, and the union of its watchers' filters. */
export interface WatchedApp {
  /** The id of an app, or `watchedInstance`. */
  readonly id: string;
  readonly filters: readonly WatchFilter[];
}

/** Whether a watcher's filter lets a record through. */
export function isWanted(filter: WatchFilter, event: WatchedEvent): boolean {
  const { kinds, channel, prefix, socket, user, publish, device, platform } = filter;
  if (kinds !== undefined && !kinds.includes(event.kind)) return false;
  if (channel !== undefined && event.channel !== channel) return false;
  if (prefix !== undefined && event.channel?.startsWith(prefix) !== true) return false;
  if (socket !== undefined && event.socket !== socket) return false;
  if (publish !== undefined && event.publish !== publish) return false;
  if (device !== undefined && event.device !== device) return false;
  if (platform !== undefined && event.platform !== platform) return false;
  return user === undefined || event.user === user;
}

/** Adds numbers to existing ones. */
export function addByKind(sums: Partial<Record<WatchedKind, number>>, more: ByKind): void {
  for (const [kind, count] of Object.entries(more) as [WatchedKind, number][]) {
    sums[kind] = (sums[kind] ?? 0) + count;
  }
}

/** Returns the names with the highest counts, the highest first. */
export function busiest(counts: Iterable<readonly [string, number]>): readonly NamedCount[] {
  return Array.from(counts, ([name, events]) => ({ name, events }))
    .sort((a, b) => b.events - a.events)
    .slice(0, BUSIEST_MAX);
}

const BUSIEST_MAX = 10;

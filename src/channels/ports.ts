import type { App } from './app.ts';
import type { ChannelName, ChannelText } from './channel-name.ts';
import type { Topic } from './event.ts';
import type { AppWebhookEvent } from './lifecycle/webhook-event.ts';
import type { MaybePromise } from './maybe-promise.ts';
import type { SocketId } from './socket-id.ts';

/**
 * The far end of one connection, whatever carries it.
 *
 * `send` never blocks and keeps order; what it queues is bounded by the transport, which closes a
 * connection that reads too slowly rather than skip a frame. It does nothing once that is closed.
 */
export interface Peer {
  readonly socketId: SocketId;
  send(frame: string): unknown;
}

/** How a frame is sent to the subscribers of a topic. */
export interface SendOptions {
  /** The connection that must not get it; one that is not connected here excludes nobody. */
  readonly except?: Peer | SocketId | undefined;
  /**
   * Whether it may wait a few milliseconds, while the loop is busy, to leave together with later frames. For events of
   * backends, which send the next one only when this one is answered; a client event waits for nothing.
   */
  readonly mayWait?: boolean;
}

/**
 * This node's subscribers, by topic. Always local, so it answers at once.
 *
 * `send` must reach every peer that joined before the call and none that joins after it, and returns how many those are.
 * It calls `makeFrame` only if there are any. Frames for one peer keep their order, also with those of `Peer.send`.
 * After `leaveAll` a peer is in no topic; it is called once, when its connection has ended.
 *
 * Only `broadcast` calls `send`.
 */
export interface Audience {
  join(peer: Peer, topic: Topic): void;
  leave(peer: Peer, topic: Topic): void;
  leaveAll(peer: Peer): void;
  send(topic: Topic, makeFrame: () => string, options?: SendOptions): number;
}

/** One user in a presence channel. */
export interface Member {
  readonly userId: string;
  /** JSON text, exactly as the app's backend signed it. */
  readonly userInfo: string | undefined;
}

/** How many are in a channel now. */
export interface ChannelCounts {
  readonly subscriptions: number;
  /** Distinct users; 0 where the channel is not a presence channel. */
  readonly users: number;
}

/** What one subscription more or less changed; everything that clients are told of it follows from this. */
export interface Transition {
  /** The first subscription came. */
  readonly occupied: boolean;
  /** The last one went. */
  readonly vacated: boolean;
  /** The first connection of this user came. */
  readonly memberAdded: boolean;
  /** The last connection of this user went. */
  readonly memberRemoved: boolean;
  readonly counts: ChannelCounts;
}

/**
 * Who is in which channel, across all nodes.
 *
 * `join` must refuse a user beyond the app's `presenceMembers` (0: no limit), never one who is in already,
 * and must decide "first" and "last" once for the whole cluster. A user's info stays that of their first
 * connection until they are gone. `leave` may only be called for what `join` accepted, once each.
 */
export interface Roster {
  join(
    app: App,
    channel: ChannelName,
    member: Member | undefined,
  ): MaybePromise<Transition | 'full'>;
  leave(app: App, channel: ChannelName, member: Member | undefined): MaybePromise<Transition>;
  /** In the order in which they joined. */
  members(app: App, channel: ChannelName): MaybePromise<readonly Member[]>;
  counts(app: App, channel: ChannelName): MaybePromise<ChannelCounts>;
  /** How many channels of the app are occupied. */
  channelCountOf(app: App): MaybePromise<number>;
  /** A walk through the app's occupied channels. */
  channels(app: App, query: ChannelQuery): ChannelWalk;
}

/** Which channels to list. */
export interface ChannelQuery {
  /** What their names start with. */
  readonly prefix: string;
  /** `next` of a page, to go on in another walk: what was before it is gone through once more, and not listed. */
  readonly after: string | undefined;
}

/**
 * A walk through occupied channels, page by page; each page begins where the one before it ended, and costs no more than
 * the first. A channel that is occupied all the time is on exactly one page; one that comes or goes meanwhile may be on none
 * or on two.
 */
export interface ChannelWalk {
  /** The next page. Not to be asked for while the one before it is awaited. */
  page(limit: number): MaybePromise<ChannelPage>;
}

/** Some occupied channels: no more than asked for, and fewer where much had to be searched for them. */
export interface ChannelPage {
  readonly channels: readonly (readonly [name: ChannelText, counts: ChannelCounts])[];
  /** Where the next page begins; `undefined`: this is the last one. */
  readonly next: string | undefined;
}

/** The last event of a cache channel. */
export interface CachedEvent {
  readonly name: string;
  readonly data: string;
  /** When it is forgotten. Milliseconds since 1970. */
  readonly expiresAt: number;
}

/**
 * Remembers the last event of each cache channel.
 *
 * `get` must never give an event whose time has come. A memory may forget earlier when it is full: the
 * protocol promises nothing but "up to" the time.
 */
export interface EventCache {
  put(topic: Topic, event: CachedEvent): MaybePromise<void>;
  get(topic: Topic): MaybePromise<CachedEvent | undefined>;
}

/** The apps this server serves. Answers at once, from memory, and never blocks on a store. */
export interface AppDirectory {
  byKey(key: string): App | undefined;
  byId(id: string): App | undefined;
}

/**
 * Who is signed in, across all nodes.
 *
 * Each connection that signs in does so once and signs out once. It must decide once for the whole cluster
 * whether a user's first connection came or their last went: `true` is given for exactly that one.
 */
export interface UserRoster {
  signIn(app: App, userId: string): MaybePromise<boolean>;
  signOut(app: App, userId: string): MaybePromise<boolean>;
  /** Those of the users who have a connection now. */
  online(app: App, userIds: readonly string[]): MaybePromise<ReadonlySet<string>>;
}

/** Where webhook events go. It must return at once, keep no caller waiting, and bound what it holds. */
export interface WebhookSink {
  emit(event: AppWebhookEvent): void;
}

/** What the core counts. */
export type CoreCounter =
  | 'messagesDelivered'
  | 'deliveredBytes'
  | 'eventsPublished'
  | 'clientProblems'
  | 'quotaWarnings';

/** Counts; a label tells the series of one counter apart. */
export interface Meter {
  count(counter: CoreCounter, by?: number, label?: string): void;
}

import type { App } from './app.ts';
import type { ChannelName, ChannelText } from './channel-name.ts';
import type { Topic } from './event.ts';
import type { AppWebhookEvent } from './lifecycle/webhook-event.ts';
import type { MaybePromise } from './maybe-promise.ts';
import type { SocketId } from './socket-id.ts';

/**
 * What the core asks of the world, and what it promises in return.
 *
 * `Roster`, `UserRoster` and `EventCache` are *engines*. An engine may answer at once or later, and every call must settle, so
 * it must reject by itself when it has waited long enough. Both a throw and a rejection mean "I could not answer": the core
 * then closes the connection with 4200, or answers the HTTP request with 503, and does not ask again. So a call that fails
 * must have changed nothing, except `leave` and `signOut`: those who call them are gone, and the engine must remember it.
 */

/**
 * The far end of one connection, whatever carries it.
 *
 * `send` must keep order, never block, never throw, and do nothing once the connection is closed. Its queue is bounded: a
 * transport closes a connection that reads too slowly, and never skips a frame.
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

/** How many subscribers a channel has. */
export interface ChannelCounts {
  readonly subscriptions: number;
  /** Distinct users; 0 where the channel is not a presence channel. */
  readonly users: number;
}

/** What one join or leave changed. Everything that clients and webhooks are sent about it follows from this. */
export interface Transition {
  /** This was the first subscription. */
  readonly occupied: boolean;
  /** This was the last subscription. */
  readonly vacated: boolean;
  /** This was the first connection of this user. */
  readonly memberAdded: boolean;
  /** This was the last connection of this user. */
  readonly memberRemoved: boolean;
  readonly counts: ChannelCounts;
}

/**
 * Who is in which channel, across all nodes. An engine.
 *
 * `join` must answer `'full'` beyond the app's `presenceMembers` (0: no limit), but never to a user who is in the channel
 * already. "First" and "last" must be decided once for the whole cluster. A user's info stays that of their first connection
 * until they have left. The core calls `leave` exactly once for each `join` that was accepted.
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
  /** How many channels of the app have subscribers. */
  channelCountOf(app: App): MaybePromise<number>;
  /** Starts a walk through the app's occupied channels. Must return at once. */
  channels(app: App, query: ChannelQuery): ChannelWalk;
}

/** Which channels to list. */
export interface ChannelQuery {
  /** The start of their names; `''` for all. */
  readonly prefix: string;
  /** `next` of a page, to continue after it in another walk; that walk skips everything before it, which takes time. */
  readonly after: string | undefined;
}

/**
 * A walk through occupied channels, page by page. Every page must cost about the same. A channel that stays occupied is on
 * exactly one page; one that is vacated or occupied meanwhile may be on none, or on two.
 */
export interface ChannelWalk {
  /** Returns the next page. Must not be called while the previous page is awaited. */
  page(limit: number): MaybePromise<ChannelPage>;
}

/** Some occupied channels: at most `limit`, and fewer if finding more would take too long. */
export interface ChannelPage {
  readonly channels: readonly (readonly [name: ChannelText, counts: ChannelCounts])[];
  /** Where the next page begins; `undefined` on the last page. */
  readonly next: string | undefined;
}

/** The last event of a cache channel. */
export interface CachedEvent {
  readonly name: string;
  readonly data: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/**
 * The last event of each cache channel. An engine.
 *
 * `get` must never return an expired event. A full cache may drop events earlier: the protocol promises "up to" the time.
 */
export interface EventCache {
  put(topic: Topic, event: CachedEvent): MaybePromise<void>;
  get(topic: Topic): MaybePromise<CachedEvent | undefined>;
}

/** The apps that this server serves. Must answer at once, from memory, and never fail. */
export interface AppDirectory {
  byKey(key: string): App | undefined;
  byId(id: string): App | undefined;
}

/**
 * Which users are signed in, across all nodes. An engine. The core calls `signOut` exactly once for each `signIn`.
 */
export interface UserRoster {
  /** Returns `true` for the first connection of a user in the whole cluster, and only for that. */
  signIn(app: App, userId: string): MaybePromise<boolean>;
  /** Returns `true` for the last connection of a user in the whole cluster, and only for that. */
  signOut(app: App, userId: string): MaybePromise<boolean>;
  /** Returns the users who are signed in. */
  online(app: App, userIds: readonly string[]): MaybePromise<ReadonlySet<string>>;
}

/** Takes webhook events. `emit` must return at once and never fail; what it queues is bounded. */
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

/** Counts events for `/metrics`. A counter with a label has one series per label. */
export interface Meter {
  count(counter: CoreCounter, by?: number, label?: string): void;
}

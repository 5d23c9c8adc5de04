import type { App } from './app.ts';
import type { ChannelName, ChannelText } from './channel-name.ts';
import type { Cause, Topic } from './event.ts';
import type { EventId } from './history/event-id.ts';
import type { HistoryPage, HistoryQuery } from './history/page.ts';
import type { FoundHistory, HistoryRequest } from './history/resume.ts';
import type { AppWebhookEvent } from './lifecycle/webhook-event.ts';
import type { Ask } from './live/ask.ts';
import type { MaybePromise } from './maybe-promise.ts';
import type { SocketId } from './socket-id.ts';

/** What the core asks of the world, and what it promises in return. */

/**
 * The far end of one connection, whatever carries it.
 *
 * `send` must keep order, never block, never throw, and do nothing once the connection is closed. Its queue is bounded: a
 * transport closes a connection that reads too slowly, and never skips a frame.
 */
export interface Peer {
  readonly socketId: SocketId;
  send(frame: string): unknown;
  /** Bytes that were sent and that the far end has not taken yet. */
  waitingBytes(): number;
}

/** How a frame is sent to the subscribers of a topic. */
export interface SendOptions {
  /** The connection that must not get it; one that is not connected here excludes nobody. */
  readonly except?: SocketId | undefined;
  /**
   * Whether it may wait a few milliseconds, while the loop is busy, to leave together with later frames. For events of
   * backends, which send the next one only when this one is answered; a client event waits for nothing.
   */
  readonly mayWait?: boolean;
}

/**
 * This loop's subscribers, by topic. Always local, so it answers at once.
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

/** A connection that wants to enter a channel. */
export interface Entry {
  readonly app: App;
  readonly channel: ChannelName;
  /** The subscriptions that this loop holds in the channel from now on, this one included. */
  readonly held: number;
  /** Who enters a presence channel; `undefined` for other channels. */
  readonly member: Member | undefined;
  readonly socketId: SocketId;
  /** What it asks of the history; `undefined` if the app has no rules for histories. */
  readonly history?: HistoryRequest | undefined;
}

/** What a connection finds in a channel that it has entered. */
export interface Entered {
  /** The members of a presence channel, the newcomer included, in the order in which they joined. */
  readonly members: readonly Member[];
  /** The last event of a cache channel. */
  readonly cached: CachedEvent | undefined;
  /** `undefined`: the channel keeps no history, or has none for a client that cannot resume. */
  readonly history?: FoundHistory | undefined;
}

/** A connection that has left a channel. */
export interface Exit {
  readonly app: App;
  readonly channel: ChannelName;
  /** The subscriptions that this loop still holds in the channel. */
  readonly held: number;
  /** The member who left, unless another connection of this loop is the same user. */
  readonly userId: string | undefined;
}

/** A frame for all subscribers of a topic. */
export interface Broadcast {
  readonly app: App;
  /** The channel, or what else one may listen to in an app. */
  readonly channel: ChannelText;
  readonly makeFrame: () => string;
  /** The connection that must not get it. */
  readonly except?: SocketId | undefined;
  /** Who caused it and so pays for each delivery; `undefined`: it is free. */
  readonly cause?: Cause | undefined;
  /** The record of the event, if somebody watches the app: its receivers are counted. */
  readonly trace?: string | undefined;
  /** Asks connections of users whether they have it. */
  readonly ask?: Ask | undefined;
}

/** An event on its way to all subscribers of a channel. */
export interface Publication extends Broadcast {
  /** An event that was published to the channel with this key in the last five minutes is not published again. */
  readonly idempotencyKey?: string | undefined;
  /** What a cache channel remembers of it; `undefined` for other channels. */
  readonly remember: { readonly name: string; readonly data: string } | undefined;
  /** With an ask: called once with the number of loops that it was sent to, each of which reports. */
  readonly sentTo?: ((loops: number) => void) | undefined;
}

/**
 * The authority over all topics, across all loops. An engine; see `docs/scale.md`.
 *
 * It decides for the whole cluster who is first, last and too many, in which order the events of a channel go out, and which
 * webhooks follow. What it decides comes back to each loop that holds subscriptions, as broadcasts, in one order per channel
 * that is the same for all loops. It may answer at once or later; calls of one loop take effect in their order.
 *
 * Loops state what they hold instead of counting up and down, so a statement may be repeated without harm. Every call must
 * settle. A throw or a rejection means "I could not answer": the core then closes the connection with 4100, refuses the
 * client event, or answers the HTTP request with 503, and does not ask again. A call that fails must have changed nothing,
 * except `leave`, `signOut` and `unwatch`: those who call them are gone, and the engine must remember it.
 */
export interface Authority {
  /**
   * Enters a channel. `false`: it is full, because the app has as many `presenceMembers` as it may have, and the user is not
   * one of them. Otherwise calls `entered` once, between the broadcasts that came before the newcomer and those that it gets.
   */
  join(entry: Entry, entered: (entered: Entered) => void): MaybePromise<boolean>;
  leave(exit: Exit): MaybePromise<void>;
  /**
   * Sends an event to all subscribers. Settles once its place among the events of the channel is decided, with its id if the
   * channel keeps a history. Only events of backends are kept. An event that repeats another one by its key is sent to nobody;
   * the id is that of the other one.
   */
  publish(publication: Publication): MaybePromise<EventId | undefined>;
  /** This loop has connections that are signed in as the user. */
  signIn(app: App, userId: string): MaybePromise<void>;
  /** This loop has no connection left that is signed in as the user. */
  signOut(app: App, userId: string): MaybePromise<void>;
  /** Returns which of the users are online. From then on this loop gets their changes, until as many calls of `unwatch`. */
  watch(app: App, userIds: readonly string[]): MaybePromise<ReadonlySet<string>>;
  unwatch(app: App, userIds: readonly string[]): MaybePromise<void>;
  /** Ends every connection that is signed in as the user. */
  terminate(app: App, userId: string): MaybePromise<void>;
  /** In the order in which they joined. */
  members(app: App, channel: ChannelName): MaybePromise<readonly Member[]>;
  counts(app: App, channel: ChannelName): MaybePromise<ChannelCounts>;
  cached(app: App, channel: ChannelName): MaybePromise<CachedEvent | undefined>;
  /** Returns a page of the history of a channel that keeps one. */
  history(app: App, channel: ChannelName, query: HistoryQuery): MaybePromise<HistoryPage>;
  /** Forgets the history of a channel and the event that a cache channel remembers: every place becomes a gap. */
  forgetHistory(app: App, channel: ChannelName): MaybePromise<void>;
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
  /** Where the next page begins, up to 16 digits; `undefined` on the last page. */
  readonly next: string | undefined;
}

/** The last event of a cache channel. */
export interface CachedEvent {
  readonly name: string;
  readonly data: string;
  /** How long it is still remembered. Milliseconds. A duration, because the clocks of servers may differ. */
  readonly leftMs: number;
  /** If it is the newest event of the history of its channel. */
  readonly id?: EventId | undefined;
}

/**
 * The connections of each app that count for its `limits.connections`. Part of an engine, since the limit holds for all loops.
 *
 * An engine that cannot answer lets a connection in.
 */
export interface ConnectionQuota {
  /** Takes a place for a connection. `false`: the app has as many connections as it may have. Never fails. */
  take(app: App): MaybePromise<boolean>;
  /** Gives a place back. */
  release(app: App): void;
}

/** The apps that this server serves. Must answer at once, from memory, and never fail. */
export interface AppDirectory {
  byKey(key: string): App | undefined;
  byId(id: string): App | undefined;
}

/**
 * Takes webhook events. `emit` must return at once and never fail; what it queues is bounded. `over` is for events with an
 * id: it is called once, when the event is stored or was dropped at a limit.
 */
export interface WebhookSink {
  emit(event: AppWebhookEvent, over?: () => void): void;
}

/** What the core counts. */
export type CoreCounter =
  | 'messagesDelivered'
  | 'deliveredBytes'
  | 'eventsPublished'
  | 'eventsReplayed'
  | 'resumes'
  | 'clientProblems'
  | 'quotaWarnings';

/** Counts events for `/metrics`. A counter with a label has one series per label. */
export interface Meter {
  count(counter: CoreCounter, by?: number, label?: string): void;
}

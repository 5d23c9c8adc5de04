import type { App } from './app.ts';
import type { Append, AppendOutcome } from './appending/append.ts';
import type { ChannelName, ChannelText } from './channel-name.ts';
import type { Cause, Topic } from './event.ts';
import type { EventId } from './history/event-id.ts';
import type { HistoryPage, HistoryQuery } from './history/page.ts';
import type { FoundHistory, GapReason, HistoryRequest } from './history/resume.ts';
import type { AppWebhookEvent } from './lifecycle/webhook-event.ts';
import type { Ask } from './live/ask.ts';
import type { MaybePromise } from './maybe-promise.ts';
import type { InBandProblem } from './problems/problems.ts';
import type { TokenResult } from './signatures/token-result.ts';
import type { SocketId } from './socket-id.ts';

/** What the core requires from its surroundings, and what it promises in return. */

/**
 * The client's end of one connection, over any transport.
 *
 * `send` must keep the order, never block, never throw, and do nothing once the connection is closed. Its queue is
 * bounded: a transport closes a connection that reads too slowly, and never skips a frame.
 */
export interface Peer {
  readonly socketId: SocketId;
  send(frame: string): unknown;
  /** Sends several frames, in as few writes as possible. */
  sendAll(frames: readonly string[]): void;
  /** Bytes that were sent, but not read by the client yet. */
  waitingBytes(): number;
}

/** How a frame is sent to the subscribers of a topic. */
export interface SendOptions {
  /** The connection that must not receive it. If it is not on this loop, nobody is excluded. */
  readonly except?: SocketId | undefined;
  /**
   * Whether the frame may wait a few milliseconds while the loop is busy, to be written together with later frames.
   * Used for events of backends, which send the next one only when this one is answered. A client event never waits.
   */
  readonly mayWait?: boolean;
  /** Frames with at least this many bytes may be compressed; 0: none. */
  readonly compressAboveBytes?: number;
}

/**
 * This loop's subscribers, by topic. Always local and synchronous.
 *
 * `send` must reach every peer that joined before the call and none that joins after it, and returns their number. It
 * calls `makeFrame` only if there are any. Frames for one peer keep their order, including those of `Peer.send`.
 * `leaveAll` removes a peer from all topics; it is called once, when the connection has closed.
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

/** Asks for a page of the members of a presence channel. */
export interface MembersQuery {
  /** `next` of the page before it; `undefined` for the first one. */
  readonly after: string | undefined;
  readonly limit: number;
}

/** Members of a presence channel in the order of joining. Who stays in the channel is on exactly one page. */
export interface MembersPage {
  readonly members: readonly Member[];
  /** Where the next page starts, up to 16 digits; `undefined` on the last page. */
  readonly next: string | undefined;
}

/** Whether a user who signs in is online. Times are milliseconds since 1970. */
export interface UserStatus {
  readonly isOnline: boolean;
  /** `undefined`: the user is offline, or has signed in at a server of an earlier release. */
  readonly sinceMs: number | undefined;
  /** When the last connection of a user has ended who is offline; `undefined`: it is not known. */
  readonly lastSeenMs: number | undefined;
}

/** The number of subscribers of a channel. */
export interface ChannelCounts {
  readonly subscriptions: number;
  /** Distinct users; 0 for other than presence channels. */
  readonly users: number;
}

/** A connection that wants to enter a channel. */
export interface Entry {
  readonly app: App;
  readonly channel: ChannelName;
  /** This loop's subscriptions to the channel, including this one. */
  readonly held: number;
  /** The member that enters a presence channel; `undefined` for other channels, and for a reader, who is no member. */
  readonly member: Member | undefined;
  /** The connection itself. Making its id costs time, and few entries need it. */
  readonly newcomer: { readonly socketId: SocketId };
  /** What it asks of the history; `undefined` if the app has no rules for histories. */
  readonly history?: HistoryRequest | undefined;
}

/** What a connection gets when it has entered a channel. */
export interface Entered {
  /** The members of a presence channel, in the order of joining; including the newcomer, if it is a member. */
  readonly members: readonly Member[];
  /** The number of members of a large channel, of whom `members` are some: the first ones, and a newcomer who is a member. */
  readonly users?: number | undefined;
  /** The last event of a cache channel. */
  readonly cached: CachedEvent | undefined;
  /** `undefined`: the channel keeps no history, or has none for a client that cannot resume. */
  readonly history?: FoundHistory | undefined;
}

/** A connection that has left a channel. */
export interface Exit {
  readonly app: App;
  readonly channel: ChannelName;
  /** This loop's remaining subscriptions to the channel. */
  readonly held: number;
  /** The member who left; `undefined` if another connection of this loop is the same user. */
  readonly userId: string | undefined;
  /**
   * The member's last connection here has ended, but the member did not leave on purpose: without connections elsewhere, it
   * stays for so long.
   */
  readonly graceSeconds?: number | undefined;
}

/** A frame for all subscribers of a topic. */
export interface Broadcast {
  readonly app: App;
  /** The channel, or another name that can be subscribed to within an app. */
  readonly channel: ChannelText;
  readonly makeFrame: () => string;
  /** The connection that must not receive it. */
  readonly except?: SocketId | undefined;
  /** The party that is charged for each delivery; `undefined`: nobody. */
  readonly cause?: Cause | undefined;
  /** The record of the event, if somebody watches the app. Its receivers are counted. */
  readonly trace?: string | undefined;
  /** Asks connections of users whether they have received it. */
  readonly ask?: Ask | undefined;
}

/** An event for all subscribers of a channel. */
export interface Publication extends Broadcast {
  /** Makes the frame, with the id of the event if its channel keeps a history. */
  readonly makeFrame: (id?: EventId) => string;
  /**
   * Idempotency: an event is not published again if one with this key was published to the channel in the last five
   * minutes.
   */
  readonly idempotencyKey?: string | undefined;
  /** Whether the same request publishes another event after it, perhaps to another home, that must not overtake it. */
  readonly isFollowed?: boolean | undefined;
  /** What a cache channel remembers of it; `undefined` for other channels. */
  readonly remember: { readonly name: string; readonly data: string } | undefined;
  /** The producer of the value with this id should stop, if the channel remembers it. */
  readonly stops?: string | undefined;
  /** With an ask: called once with the number of reports that follow, of each loop that it was sent to or of several together. */
  readonly sentTo?: ((loops: number) => void) | undefined;
}

/**
 * The authority over all topics, for all loops. Implemented by engines; see `docs/operate/scale.md`.
 *
 * It decides for the whole cluster who is first, who is last and when a channel is full, in which order the events of
 * a channel go out, and which webhooks follow. Its decisions come back to each loop with subscriptions as broadcasts,
 * in one order per channel that is the same for all loops. It may answer synchronously or later; calls of one loop
 * take effect in order.
 *
 * Loops state what they hold instead of counting up and down, so statements may be repeated without harm. Every call
 * must settle. A throw or a rejection means "no answer": the core then closes the connection with 4100, refuses the
 * client event, or answers the HTTP request with 503, and does not ask again. A failed call must have changed
 * nothing, except for `leave`, `signOut` and `unwatch`: their callers no longer exist, so the engine must complete
 * them later.
 */
export interface Authority {
  /**
   * Enters a channel. `false`: the channel is full, because it has `presenceMembers` members, and the user is not one
   * of them. Otherwise calls `entered` once, after the broadcasts that precede the newcomer and before those that it
   * receives.
   */
  join(entry: Entry, entered: (entered: Entered) => void): MaybePromise<boolean>;
  leave(exit: Exit): MaybePromise<void>;
  /**
   * Sends an event to all subscribers. Settles once no event that is published later can come before it, with its
   * id if the channel keeps a history. Only events of backends are kept. An event that repeats another one by its key
   * is not sent; the returned id is that of the first one.
   */
  publish(publication: Publication): MaybePromise<EventId | undefined>;
  /**
   * Adds a piece to the value that a cache channel remembers, and sends it to all subscribers. The last piece is an event
   * of the history, which keeps the whole value. Whoever enters the channel meanwhile gets the value as it is then, and
   * after it the pieces that follow.
   */
  append(append: Append): MaybePromise<AppendOutcome>;
  /** Asks the producer of a value to stop: from then on, its appends are answered so. */
  stopValue(app: App, channel: ChannelName, id: string): MaybePromise<AppendOutcome>;
  /**
   * One more connection of this loop is signed in as the user: `held` with this one. `false`: the user has
   * `connectionsPerUser` connections already. With that limit, the next call about the user must wait for the answer.
   */
  signIn(app: App, userId: string, held: number): MaybePromise<boolean>;
  /**
   * This loop has `held` connections that are signed in as the user. Called for the last one that ends, for each that ends
   * if the app limits them, and for those that there are when the limit is set.
   */
  signOut(app: App, userId: string, held: number): MaybePromise<void>;
  /**
   * Returns which of the users are online. From then on, this loop receives their changes, until `unwatch` was called
   * as often.
   */
  watch(app: App, userIds: readonly string[]): MaybePromise<ReadonlySet<string>>;
  unwatch(app: App, userIds: readonly string[]): MaybePromise<void>;
  /** Returns the status of each of these users, in their order. */
  userStatuses(app: App, userIds: readonly string[]): MaybePromise<readonly UserStatus[]>;
  /** Closes all connections that are signed in as the user. */
  terminate(app: App, userId: string): MaybePromise<void>;
  /** In the order of joining. Of a large channel the first 1,000. */
  members(app: App, channel: ChannelName): MaybePromise<readonly Member[]>;
  membersPage(app: App, channel: ChannelName, query: MembersQuery): MaybePromise<MembersPage>;
  member(app: App, channel: ChannelName, userId: string): MaybePromise<Member | undefined>;
  counts(app: App, channel: ChannelName): MaybePromise<ChannelCounts>;
  cached(app: App, channel: ChannelName): MaybePromise<CachedEvent | undefined>;
  /** Returns a page of the history of a channel that keeps one. */
  history(app: App, channel: ChannelName, query: HistoryQuery): MaybePromise<HistoryPage>;
  /** Forgets the history of a channel and its cached event. Every position becomes a gap. */
  forgetHistory(app: App, channel: ChannelName): MaybePromise<void>;
  /** The number of the app's occupied channels. */
  channelCountOf(app: App): MaybePromise<number>;
  /** Starts a walk through the app's occupied channels. Must return synchronously. */
  channels(app: App, query: ChannelQuery): ChannelWalk;
}

/** Selects channels. */
export interface ChannelQuery {
  /** A prefix of their names; `''` for all. */
  readonly prefix: string;
  /** `next` of a page, to continue after it in a new walk, which must skip everything before it. That takes time. */
  readonly after: string | undefined;
}

/**
 * A walk through occupied channels, page by page. Every page must cost about the same. A channel that stays occupied
 * is on exactly one page; one that is vacated or becomes occupied meanwhile may be on no page or on two.
 */
export interface ChannelWalk {
  /** Returns the next page. Must not be called while a page is awaited. */
  page(limit: number): MaybePromise<ChannelPage>;
}

/** At most `limit` channels; fewer if finding more would take too long. */
export interface ChannelPage {
  readonly channels: readonly (readonly [name: ChannelText, counts: ChannelCounts])[];
  /** Where the next page starts, up to 16 digits; `undefined` on the last page. */
  readonly next: string | undefined;
}

/** The last event of a cache channel. */
export interface CachedEvent {
  readonly name: string;
  readonly data: string;
  /** For how long it will be remembered. Milliseconds. A duration, because the clocks of servers may differ. */
  readonly leftMs: number;
  /** Set if it is the newest event of its channel's history. */
  readonly id?: EventId | undefined;
  /** Set if it is a value to which a producer appends. Its pieces are in no history, so whoever resumes needs all of it. */
  readonly value?: RememberedValue | undefined;
}

/** What is known of a value besides its text. */
export interface RememberedValue {
  readonly id: string;
  /** UTF-16 units. */
  readonly length: number;
  readonly hasEnded: boolean;
}

/**
 * Counts the connections of each app for its `limits.connections`. Part of an engine, since the limit holds for all
 * loops.
 *
 * An engine that cannot answer admits the connection.
 */
export interface ConnectionQuota {
  /** Takes a place for a connection. `false`: the app is at its limit. Never fails. */
  take(app: App): MaybePromise<boolean>;
  /** Gives a place back. */
  release(app: App): void;
}

/** The apps that this server serves. Must answer synchronously, from memory, and never fail. */
export interface AppDirectory {
  byKey(key: string): App | undefined;
  byId(id: string): App | undefined;
}

/**
 * Handles webhook events. `emit` must return synchronously and never fail; its queue is bounded. `onSettled` is for
 * events with an id: it is called once, when the event is stored or was dropped at a limit.
 */
export interface WebhookSink {
  emit(event: AppWebhookEvent, onSettled?: () => void): void;
}

/**
 * Fetches key sets of issuers of tokens. `refresh` must settle within seconds and never fail; the live app then has what was
 * fetched, if anything was. `undefined`: it was asked shortly before, so that clients cannot make the server fetch often.
 */
export interface KeySetSource {
  refresh(app: App): Promise<void> | undefined;
}

/**
 * Counts events for `/metrics`. A counter with a label has one series per label. This is a property and no method: of
 * methods, the compiler would accept labels that the meter does not have.
 */
export interface Meter {
  readonly count: {
    (counter: 'resumes', by: number, outcome: 'resumed' | GapReason): void;
    (counter: 'clientProblems', by: number, problem: InBandProblem): void;
    (counter: 'tokens', by: number, result: TokenResult): void;
    (counter: 'appends', by: number, result: 'sent' | 'repeated' | 'refused'): void;
    (counter: 'quotaWarnings', by: number, left: '5%' | '1%' | '0%'): void;
    (
      counter: 'messagesDelivered' | 'deliveredBytes' | 'eventsPublished' | 'eventsReplayed',
      by?: number,
    ): void;
  };
}

/** What one turn of the loop may publish. */
export interface Turns {
  /** Runs something: now, or in a later turn, in the order of the calls. */
  continue<T>(run: () => MaybePromise<T>): MaybePromise<T>;
}

import type { TokenBucket } from '../../runtime/rates/token-bucket.ts';
import type { App } from '../app.ts';
import type { ChannelName } from '../channel-name.ts';
import type { Topic } from '../event.ts';
import type { ConnectionGrants } from '../grants/connection-grants.ts';
import type { EventId } from '../history/event-id.ts';
import type { Member, Peer } from '../ports.ts';
import type { SocketId } from '../socket-id.ts';
import type { UserData } from '../wire.ts';

/** The subscription of one connection to one channel. */
export interface Subscription {
  readonly channel: ChannelName;
  readonly topic: Topic;
  readonly member: Member | undefined;
  /** `joining` until the authority has answered: neither confirmed nor ready to be left. */
  readonly state: 'joining' | 'joined';
}

/**
 * Up to this many subscriptions are stored in an array, which is searched as fast as a map and takes a third of its
 * memory.
 */
const LISTED_MAX = 16;

/** The burst of attempts to subscribe or sign in, in seconds of the rate. */
const ATTEMPTS_BURST_SECONDS = 10;

/** Data that a connection asked for counts as frames of that connection: one per this many bytes, and one per this many events of a history. */
const FRAME_BYTES = 4096;
const FRAME_EVENTS = 16;

/** For how long a resume is remembered, at most. Seconds. */
const RESUMES_SECONDS = 10;

/** The resumes of a connection that sent it events. */
interface Resumes {
  /** The id after which it resumed, by channel. */
  readonly afterIds: Map<string, EventId>;
  leftSeconds: number;
}

const NO_SUBSCRIPTIONS: readonly Subscription[] = [];
const NO_USERS: readonly string[] = [];

/** The user of a connection. */
interface SignedInUser extends UserData {
  /** The users on the watchlist that the connection watches. */
  readonly watched?: readonly string[];
}

/** The sessions whose end says that their users are gone. Too few for a field of each session. */
const endingForGood = new WeakSet<Session>();

/**
 * What the core knows about one connection; extended by the transport. Small, because there are many: with more than 26 fields,
 * those of the transport included, a connection takes 32 bytes more.
 */
export abstract class Session {
  readonly app: App;
  abstract readonly socketId: SocketId;
  abstract readonly peer: Peer;
  /** An array in the order of subscribing; a map by channel name if there are many. */
  private subscribed: Subscription[] | Map<string, Subscription> | undefined;
  /** Created with the first client event. */
  clientEvents: TokenBucket | undefined;
  /** Recent attempts to subscribe or sign in. Decreases by `limits.subscriptionsPerSecond` each second. */
  private attempts = 0;
  /** Forgotten together, so that a connection that resumes all the time takes no more memory. */
  private resumes: Resumes | undefined;
  /** What it was sent recently because it asked for it, in frames. Decreases like the frames that it has sent. */
  answerDebt = 0;
  /** Frames that it sent recently, weighted by size and cost: see `FrameLimit`. */
  frameDebt = 0;
  closed = false;
  /** How many `pusher:ping`s it has not answered. */
  pongsOwed = 0;
  /** Whether it sent a position when it subscribed, so that it can resume. */
  canResume = false;
  /** Whether the app's backend has authorised it, by a sign-in or by a subscription that needs a signature. */
  authorised = false;
  /** The user that is signed in on the connection. */
  user: SignedInUser | undefined;
  /** `true` until the authority has answered: `user` is set already, but must not be signed out yet. */
  signingIn = false;
  /** Its grants, and the subscriptions that wait for one; `undefined` until there are any. */
  grants: ConnectionGrants | undefined;

  constructor(app: App) {
    this.app = app;
  }

  /** The users that it watches. */
  get watching(): readonly string[] {
    return this.user?.watched ?? NO_USERS;
  }

  /** Notes that its end says that its user is gone: its members do not stay. */
  endForGood(): void {
    endingForGood.add(this);
  }

  get endsForGood(): boolean {
    return endingForGood.has(this);
  }

  /** Counts one attempt to subscribe or sign in; `false` if there were too many. */
  mayAttempt(): boolean {
    const { subscriptionsPerSecond, channelsPerConnection } = this.app.limits;
    if (subscriptionsPerSecond === 0) return true;
    // A reconnecting client subscribes to all of its channels at once.
    const burst = Math.max(ATTEMPTS_BURST_SECONDS * subscriptionsPerSecond, channelsPerConnection);
    if (this.attempts >= burst) return false;
    this.attempts++;
    return true;
  }

  /** Refills the attempts of some seconds, and forgets old resumes. Called about once a second. */
  secondsPassed(seconds: number): void {
    if (this.resumes !== undefined) {
      this.resumes.leftSeconds -= seconds;
      if (this.resumes.leftSeconds <= 0) this.resumes = undefined;
    }
    if (this.attempts === 0) return;
    const allowed = seconds * this.app.limits.subscriptionsPerSecond;
    this.attempts = Math.max(0, Math.floor(this.attempts - allowed));
  }

  /** Charges the connection for something that it was sent because it asked for it. */
  chargeAnswer(bytes: number, events = 0): void {
    this.answerDebt += bytes / FRAME_BYTES + events / FRAME_EVENTS;
  }

  /** Notes that the connection has resumed a channel after an event. */
  noteResume(channel: string, after: EventId): void {
    this.resumes ??= { afterIds: new Map(), leftSeconds: RESUMES_SECONDS };
    this.resumes.afterIds.set(channel, after);
  }

  /** Whether the connection has resumed a channel after the same event in the last seconds. */
  hasResumed(channel: string, after: EventId): boolean {
    return this.resumes?.afterIds.get(channel) === after;
  }

  get subscriptionCount(): number {
    const { subscribed } = this;
    if (subscribed === undefined) return 0;
    return subscribed instanceof Map ? subscribed.size : subscribed.length;
  }

  subscription(channel: string): Subscription | undefined {
    const { subscribed } = this;
    if (subscribed instanceof Map) return subscribed.get(channel);
    return subscribed?.find((one) => one.channel.text === channel);
  }

  /** Adds the subscription to a channel. There must be none to it. */
  add(subscription: Subscription): void {
    const { subscribed } = this;
    if (subscribed === undefined) this.subscribed = [subscription];
    else if (subscribed instanceof Map) subscribed.set(subscription.channel.text, subscription);
    else if (subscribed.length < LISTED_MAX) subscribed.push(subscription);
    else {
      const all = [...subscribed, subscription];
      this.subscribed = new Map(all.map((one) => [one.channel.text, one]));
    }
  }

  /** Replaces the subscription to the same channel. */
  replace(subscription: Subscription): void {
    const { subscribed } = this;
    const { text } = subscription.channel;
    if (subscribed instanceof Map) subscribed.set(text, subscription);
    else if (subscribed !== undefined) {
      subscribed[subscribed.findIndex(({ channel }) => channel.text === text)] = subscription;
    }
  }

  remove(channel: string): void {
    this.grants?.leave(channel);
    const { subscribed } = this;
    if (subscribed instanceof Map) subscribed.delete(channel);
    else if (subscribed !== undefined) {
      const at = subscribed.findIndex((one) => one.channel.text === channel);
      if (at >= 0) subscribed.splice(at, 1);
    }
  }

  /** Returns a snapshot of all subscriptions. */
  subscriptions(): readonly Subscription[] {
    const { subscribed } = this;
    if (subscribed === undefined) return NO_SUBSCRIPTIONS;
    return subscribed instanceof Map ? [...subscribed.values()] : subscribed.slice();
  }
}

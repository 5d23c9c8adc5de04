import type { TokenBucket } from '../../runtime/token-bucket.ts';
import type { App } from '../app.ts';
import type { ChannelName } from '../channel-name.ts';
import type { Topic } from '../event.ts';
import type { Member, Peer } from '../ports.ts';
import type { SocketId } from '../socket-id.ts';
import type { UserData } from '../wire.ts';

/** One channel that a connection is in. */
export interface Subscription {
  readonly channel: ChannelName;
  readonly topic: Topic;
  readonly member: Member | undefined;
  /** `joining` until the roster has answered: neither confirmed nor to be left yet. */
  readonly state: 'joining' | 'joined';
}

/** Most connections have few subscriptions: a list of them is looked through as fast as a map, and is a third of it. */
const LISTED_MAX = 16;

/** How many seconds' worth of attempts a connection may make at once. */
const ATTEMPTS_BURST_SECONDS = 10;

const NONE: readonly Subscription[] = [];
const NOBODY: readonly string[] = [];

/** What the core knows of one connection; the transport adds to it. Kept small: there are many. */
export abstract class Session {
  readonly app: App;
  abstract readonly socketId: SocketId;
  abstract readonly peer: Peer;
  /** In the order in which they came; by channel name where they are many. */
  private subscribed: Subscription[] | Map<string, Subscription> | undefined;
  /** Only made with the first client event. */
  clientEvents: TokenBucket | undefined;
  /** Attempts to subscribe or sign in, less those that `limits.subscriptionsPerSecond` has allowed since. */
  private attempts = 0;
  closed = false;
  /** Whether the app's backend has let it in anywhere: by a sign-in, or into a channel that needs it. */
  authorised = false;
  /** Who the connection is signed in as. */
  user: UserData | undefined;
  /** Until the user roster has answered: signed in already for the client, and not to be signed out yet. */
  signingIn = false;
  /** The users whose coming and going it is told of. */
  watching: readonly string[] = NOBODY;

  constructor(app: App) {
    this.app = app;
  }

  /** Counts one attempt to subscribe or sign in; `false` where there were too many. */
  mayAttempt(): boolean {
    const { subscriptionsPerSecond, channelsPerConnection } = this.app.limits;
    if (subscriptionsPerSecond === 0) return true;
    // A client that reconnects subscribes to all of its channels at once.
    const burst = Math.max(ATTEMPTS_BURST_SECONDS * subscriptionsPerSecond, channelsPerConnection);
    if (this.attempts >= burst) return false;
    this.attempts++;
    return true;
  }

  /** Allows the attempts of some seconds. To be called about once a second. */
  allowAttempts(seconds: number): void {
    if (this.attempts === 0) return;
    const allowed = seconds * this.app.limits.subscriptionsPerSecond;
    this.attempts = Math.max(0, Math.floor(this.attempts - allowed));
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

  /** One whose channel it has no subscription to. */
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

  /** Puts another in the place of the one to the same channel. */
  replace(subscription: Subscription): void {
    const { subscribed } = this;
    const { text } = subscription.channel;
    if (subscribed instanceof Map) subscribed.set(text, subscription);
    else if (subscribed !== undefined) {
      subscribed[subscribed.findIndex(({ channel }) => channel.text === text)] = subscription;
    }
  }

  remove(channel: string): void {
    const { subscribed } = this;
    if (subscribed instanceof Map) subscribed.delete(channel);
    else if (subscribed !== undefined) {
      const at = subscribed.findIndex((one) => one.channel.text === channel);
      if (at >= 0) subscribed.splice(at, 1);
    }
  }

  /** Those of now; what changes meanwhile does not change them. */
  subscriptions(): readonly Subscription[] {
    const { subscribed } = this;
    if (subscribed === undefined) return NONE;
    return subscribed instanceof Map ? [...subscribed.values()] : subscribed.slice();
  }
}

import type { App } from './app.ts';
import type { ChannelName } from './channel-name.ts';
import type { Member, Peer } from './ports.ts';
import type { SocketId } from './socket-id.ts';
import type { TokenBucket } from './token-bucket.ts';
import type { UserData } from './wire.ts';

/** One channel that a connection is in. */
export interface Subscription {
  readonly channel: ChannelName;
  readonly member: Member | undefined;
  /** `joining` until the roster has answered: neither confirmed nor to be left yet. */
  state: 'joining' | 'joined';
}

/** What the server knows of one connection. Kept small: there are many. */
export class Session {
  readonly app: App;
  readonly socketId: SocketId;
  readonly peer: Peer;
  /** By channel name; only made once there is one. */
  private subscriptionsByName: Map<string, Subscription> | undefined;
  /** Only made with the first client event. */
  clientEvents: TokenBucket | undefined;
  closed = false;
  /** Whether the app's backend has let it in anywhere: by a sign-in, or into a channel that needs it. */
  authorised = false;
  /** Who the connection is signed in as. */
  user: UserData | undefined;
  /** Until the user roster has answered: signed in already for the client, and not to be signed out yet. */
  signingIn = false;
  /** The users whose coming and going it is told of. */
  watching: readonly string[] = [];

  constructor(app: App, socketId: SocketId, peer: Peer) {
    this.app = app;
    this.socketId = socketId;
    this.peer = peer;
  }

  get subscriptionCount(): number {
    return this.subscriptionsByName?.size ?? 0;
  }

  subscription(channel: string): Subscription | undefined {
    return this.subscriptionsByName?.get(channel);
  }

  add(subscription: Subscription): void {
    this.subscriptionsByName ??= new Map();
    this.subscriptionsByName.set(subscription.channel.text, subscription);
  }

  remove(channel: string): void {
    this.subscriptionsByName?.delete(channel);
  }

  subscriptions(): Iterable<Subscription> {
    return this.subscriptionsByName?.values() ?? [];
  }
}

import type { CachedEvent, ChannelCounts, Member } from '../../channels/ports.ts';
import type { AppActivity } from '../../channels/usage/app-activity.ts';

/** What one server has of one app. */
export interface ServerApp {
  readonly appId: string;
  readonly connections: number;
}

/** One of the servers that act as one. */
export interface ServerActivity {
  /** Host and port. */
  readonly name: string;
  /** The apps that have connections there. */
  readonly apps: readonly ServerApp[];
}

/** What happens now, on all servers. */
export interface LiveFigures {
  readonly apps: readonly AppActivity[];
  readonly servers: readonly ServerActivity[];
}

/** One occupied channel. `users` counts the members of a presence channel. */
export interface ChannelActivity {
  readonly name: string;
  readonly subscriptions: number;
  readonly users: number;
}

/** One page of occupied channels. `next` continues the list; `undefined` at the end. */
export interface ChannelActivityPage {
  readonly channels: readonly ChannelActivity[];
  readonly next: string | undefined;
}

export interface ChannelActivityQuery {
  readonly appId: string;
  readonly prefix: string;
  readonly after: string | undefined;
  readonly limit: number;
}

/** A channel that an event was sent to. */
export interface ReachedChannel {
  readonly name: string;
  /** Connections that were subscribed, on all servers. */
  readonly receivers: number;
}

/**
 * To which channels an event was sent, or why it was refused: it breaks a rule, the app is over a limit, or the engine is
 * away.
 */
export type SendAnswer =
  | { readonly channels: readonly ReachedChannel[] }
  | {
      readonly refused:
        | 'invalid'
        | 'not-found'
        | 'conflict'
        | 'too-large'
        | 'over-limit'
        | 'unavailable';
      readonly why: string;
    };

/** A channel on all servers together. */
export interface ChannelState {
  readonly counts: ChannelCounts;
  /** In the order of joining. */
  readonly members: readonly Member[];
  readonly cached: CachedEvent | undefined;
}

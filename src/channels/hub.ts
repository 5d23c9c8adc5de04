import type { Clock, Log } from '../runtime/ports.ts';
import type { RateLimitedLog } from '../runtime/rate-limited-log.ts';
import type { LifecycleEvents } from './lifecycle/lifecycle-events.ts';
import type { MemberChanges } from './lifecycle/member-changes.ts';
import type { Audience, EventCache, Meter, Roster, UserRoster } from './ports.ts';
import type { LocalChannels } from './subscribing/local-channels.ts';
import type { Usage } from './usage.ts';
import type { UserSessions } from './users/user-sessions.ts';
import type { WatchlistEvents } from './users/watchlist-events.ts';

/** Everything the core works with; each of its functions is given it. */
export interface Hub {
  readonly audience: Audience;
  readonly roster: Roster;
  readonly channels: LocalChannels;
  readonly users: UserRoster;
  readonly cache: EventCache;
  readonly clock: Clock;
  readonly log: Log;
  /** For lines that clients can cause: rate-limited by app and address. */
  readonly rateLimitedLog: RateLimitedLog;
  readonly meter: Meter;
  readonly lifecycle: LifecycleEvents;
  readonly memberChanges: MemberChanges;
  readonly watchlists: WatchlistEvents;
  readonly usage: Usage;
  /** Ends a connection with many subscriptions of an app, because another app needs room. */
  readonly endConnectionOf: (appId: string) => void;
  /** Lets ended connections leave some of their channels now; `false` if there are none left to leave. */
  readonly hastenDepartures: () => boolean;
  /** Whether to send `pusher:subscription_error` too when a subscription is refused. */
  readonly subscriptionErrors: boolean;
  /** The signed-in connections of this node. */
  readonly sessions: UserSessions;
}

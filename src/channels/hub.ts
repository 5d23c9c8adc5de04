import type { Clock, Log } from '../runtime/ports.ts';
import type { RateLimitedLog } from '../runtime/rate-limited-log.ts';
import type { LifecycleEvents } from './lifecycle/lifecycle-events.ts';
import type { MemberChanges } from './lifecycle/member-changes.ts';
import type { Audience, EventCache, Meter, Roster, UserRoster } from './ports.ts';
import type { LocalChannels } from './subscribing/local-channels.ts';
import type { Usage } from './usage.ts';
import type { UserSessions } from './users/user-sessions.ts';
import type { WatchlistEvents } from './users/watchlist-events.ts';

/** What the core works with, handed to whatever runs in it. */
export interface Hub {
  readonly audience: Audience;
  readonly roster: Roster;
  readonly channels: LocalChannels;
  readonly users: UserRoster;
  readonly cache: EventCache;
  readonly clock: Clock;
  readonly log: Log;
  /** For what clients cause. */
  readonly strangerLog: RateLimitedLog;
  readonly meter: Meter;
  readonly lifecycle: LifecycleEvents;
  readonly memberChanges: MemberChanges;
  readonly watchlists: WatchlistEvents;
  readonly usage: Usage;
  /** Ends a connection of an app, by its id, that has many subscriptions: another app needs room. */
  readonly endConnectionOf: (appId: string) => void;
  /** Takes ended connections out of some more of their channels; `false` where there are none that have not left. */
  readonly hastenDepartures: () => boolean;
  /** Whether refused subscriptions are also told to the channel's own handlers. */
  readonly subscriptionErrors: boolean;
  /** Who is signed in on this node, and who watches whom. */
  readonly sessions: UserSessions;
}

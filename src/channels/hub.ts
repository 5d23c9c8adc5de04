import type { Clock, Log } from '../runtime/ports.ts';
import type { RateLimitedLog } from '../runtime/rate-limited-log.ts';
import type { ChannelNews } from './channel-news.ts';
import type { LocalChannels } from './local-channels.ts';
import type { MemberChanges } from './member-changes.ts';
import type { Audience, EventCache, Meter, Roster, UserRoster } from './ports.ts';
import type { Usage } from './usage.ts';
import type { UserNews } from './user-news.ts';
import type { UserSessions } from './user-sessions.ts';

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
  readonly news: ChannelNews;
  readonly memberChanges: MemberChanges;
  readonly userNews: UserNews;
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

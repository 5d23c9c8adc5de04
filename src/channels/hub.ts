import type { Clock, Log } from '../runtime/ports.ts';
import type { RateLimitedLog } from '../runtime/rate-limited-log.ts';
import type { WebhookEvents } from './lifecycle/webhook-events.ts';
import type { AskedConnections } from './live/asked-connections.ts';
import type { Audience, Authority, Meter } from './ports.ts';
import type { ProblemBook } from './problem-book.ts';
import type { RuleEventSink } from './push-rules/push-rule.ts';
import type { LocalChannels } from './subscribing/local-channels.ts';
import type { MemberSessions } from './subscribing/member-sessions.ts';
import type { Usage } from './usage/usage.ts';
import type { UserSessions } from './users/user-sessions.ts';

/** Everything the core works with; each of its functions is given it. */
export interface Hub {
  readonly audience: Audience;
  readonly authority: Authority;
  readonly channels: LocalChannels;
  readonly clock: Clock;
  readonly log: Log;
  /** For lines that clients can cause: rate-limited by app and address. */
  readonly rateLimitedLog: RateLimitedLog;
  readonly meter: Meter;
  readonly webhooks: WebhookEvents;
  readonly usage: Usage;
  /** Takes events that may become notifications. */
  readonly ruleEvents: RuleEventSink;
  /** What clients and backends do wrong. */
  readonly problems: ProblemBook;
  /** Ends a connection with many subscriptions of an app, because another app needs room. */
  readonly endConnectionOf: (appId: string) => void;
  /** Lets ended connections leave some of their channels now; `false` if there are none left to leave. */
  readonly hastenDepartures: () => boolean;
  /** What a connection may have waiting with everything that is sent to it at once from a history. Bytes. */
  readonly historySendBytes: number;
  /** Whether to send `pusher:subscription_error` too when a subscription is refused. */
  readonly subscriptionErrors: boolean;
  /** The signed-in connections of this loop. */
  readonly sessions: UserSessions;
  readonly members: MemberSessions;
  /** The connections of this loop that were asked whether they have an event. */
  readonly asked: AskedConnections;
}

import type { RateLimitedLog } from '../runtime/logging/rate-limited-log.ts';
import type { Clock, Log } from '../runtime/ports.ts';
import type { Revocation, Revocations } from './grants/revocations.ts';
import type { WebhookEvents } from './lifecycle/webhook-events.ts';
import type { AskedConnections } from './live/asked-connections.ts';
import type { Audience, Authority, KeySetSource, Meter, Turns } from './ports.ts';
import type { ProblemBook } from './problems/problem-book.ts';
import type { RuleEventSink } from './push-rules/push-rule.ts';
import type { TokenTurns } from './signatures/token-turns.ts';
import type { LocalChannels } from './subscribing/local-channels.ts';
import type { MemberSessions } from './subscribing/member-sessions.ts';
import type { Session } from './subscribing/session.ts';
import type { StayBudget } from './subscribing/stay-budget.ts';
import type { Usage } from './usage/usage.ts';
import type { UserSessions } from './users/user-sessions.ts';

/**
 * What became of a revocation. `revoked`: this server refuses its grants from now on. `away`: the store did not answer; it may
 * have been revoked.
 */
export type RevokeOutcome = 'revoked' | 'too-many' | 'too-many-at-once' | 'not-shared' | 'away';

/** Everything that the core works with. It is passed to each of its functions. */
export interface Hub {
  readonly audience: Audience;
  readonly authority: Authority;
  readonly channels: LocalChannels;
  readonly clock: Clock;
  readonly log: Log;
  /** A log that is rate-limited by app and address, for lines that clients can cause. */
  readonly rateLimitedLog: RateLimitedLog;
  readonly meter: Meter;
  readonly webhooks: WebhookEvents;
  readonly usage: Usage;
  /** Handles events that match push rules. */
  readonly ruleEvents: RuleEventSink;
  /** Problems of clients and backends. */
  readonly problems: ProblemBook;
  /** Closes a connection with many subscriptions of an app, because another app needs room. */
  readonly endConnectionOf: (appId: string) => void;
  /** Makes closed connections leave some of their channels now; `false` if none are left to leave. */
  readonly hastenDepartures: () => boolean;
  /**
   * The limit of what may wait for one connection, including everything that is sent to it at once from a history.
   * Bytes.
   */
  readonly historySendBytes: number;
  /** Whether to send `pusher:subscription_error` too when a subscription is refused. */
  readonly subscriptionErrors: boolean;
  /** How long a subscription without authorisation waits for a sign-in. */
  readonly authorizationTimeoutSeconds: number;
  /** What is revoked of the grants of all apps. */
  readonly revocations: Revocations;
  /** Revokes grants on all servers of the store. */
  readonly revoke: (revocation: Revocation) => Promise<RevokeOutcome>;
  /** When a connection was opened. Milliseconds since 1970. */
  readonly openedAtMs: (session: Session) => number;
  /** The signed-in connections of this loop. */
  readonly sessions: UserSessions;
  readonly members: MemberSessions;
  /** The members that stay although their connections on this loop have ended. */
  readonly stays: StayBudget;
  /** The connections of this loop that owe an answer to an ask. */
  readonly asked: AskedConnections;
  readonly keySets: KeySetSource;
  /** Bounds what refused tokens cost this loop. */
  readonly tokenTurns: TokenTurns;
  /** Delays events of backends while this turn of the loop has published enough. `undefined`: nothing bounds it. */
  readonly turns?: Turns | undefined;
}

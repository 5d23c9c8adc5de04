import type { Tap } from './watching/tap.ts';

/** A key and its secret, with which a backend signs. An app may have several, so that they can be rotated. */
export interface AppKey {
  readonly key: string;
  readonly secret: string;
}

/** The limits of one app; the descriptions of the settings say where 0 means none. */
export interface AppLimits {
  readonly connections: number;
  readonly messagesPerDay: number;
  readonly eventDataBytes: number;
  readonly channelsPerTrigger: number;
  readonly eventsPerBatch: number;
  readonly presenceMembers: number;
  readonly clientEventsPerSecond: number;
  readonly channelsPerConnection: number;
  readonly subscriptionsPerSecond: number;
  readonly memberChangesPerSecond: number;
  readonly triggersPerSecond: number;
  readonly queriesPerSecond: number;
  readonly historyBytes: number;
}

/** A URL that the app's webhook events are sent to. */
export interface AppWebhook {
  readonly url: string;
  readonly events: readonly string[];
  readonly batching: boolean;
}

/** Which channels of an app keep a history, and how much of it. */
export interface HistoryRule {
  /** The name of a channel, or the beginning of names and `*`. */
  readonly channels: string;
  readonly seconds: number;
  /** Of one channel. */
  readonly events: number;
  /** Of one channel. About what they take in memory. */
  readonly bytes: number;
  /** Events for a newcomer that does not resume. */
  readonly replay: number;
}

/** Which events of an app become notifications, and for whom: either `interest` or `users` is given. */
export interface PushRule {
  /** The name of a channel, or the beginning of names and `*`. */
  readonly channels: string;
  /** Names of events. Those of client events count if they are named. */
  readonly events: readonly string[];
  /** The id of the push instance. */
  readonly instance: string;
  /** The interest; `*` stands for what the `*` of `channels` fits. */
  readonly interest?: string | undefined;
  /** The field of the data that has the ids of users; dots lead into objects. */
  readonly users?: string | undefined;
  /** What each platform gets. Texts may have placeholders. */
  readonly apns?: Readonly<Record<string, unknown>> | undefined;
  readonly fcm?: Readonly<Record<string, unknown>> | undefined;
  readonly web?: Readonly<Record<string, unknown>> | undefined;
  readonly perSecond: number;
}

/**
 * One app: a tenant with channels of its own.
 *
 * There is one object per app for as long as the server runs. Only the app directory changes it, and everything that holds
 * it sees the change at once.
 */
export interface App {
  readonly id: string;
  readonly name: string;
  readonly enabled: boolean;
  readonly keys: readonly AppKey[];
  readonly clientEvents: boolean;
  readonly subscriptionCounts: boolean;
  readonly watchlists: boolean;
  readonly authorizedConnectionsOnly: boolean;
  readonly limits: AppLimits;
  /** The first rule that fits a channel counts. */
  readonly history: readonly HistoryRule[];
  readonly webhooks: readonly AppWebhook[];
  /** Every rule that fits an event counts. */
  readonly pushRules: readonly PushRule[];
  /** Takes what happens in the app while somebody watches it. Only on live objects, never sent to another loop. */
  readonly tap?: Tap | undefined;
}

/** Returns the secret of one of the app's keys. */
export function secretOf(app: App, key: string): string | undefined {
  return app.keys.find((pair) => pair.key === key)?.secret;
}

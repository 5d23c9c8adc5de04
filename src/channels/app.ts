/** One pair that a backend signs with. An app may hold several, so that they can be rotated. */
export interface AppKey {
  readonly key: string;
  readonly secret: string;
}

/** What one app may do at most. 0 means no limit where the setting's description says so. */
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
}

/** Where an app wants to hear of what happens in its channels. */
export interface AppWebhook {
  readonly url: string;
  readonly events: readonly string[];
  readonly batching: boolean;
}

/**
 * One app: a customer of this server with channels of its own.
 *
 * There is one object per app for as long as the server runs, whoever holds it sees a changed setting at
 * once; only the `AppDirectory` writes to it.
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
  readonly webhooks: readonly AppWebhook[];
}

/** The secret that belongs to one of the app's keys. */
export function secretOf(app: App, key: string): string | undefined {
  return app.keys.find((pair) => pair.key === key)?.secret;
}

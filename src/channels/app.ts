import type { KeyUses } from '../runtime/keys/key-uses.ts';
import type { KeySetKey } from '../runtime/tokens/key-set.ts';
import type { Right } from './grants/grant.ts';
import type { WebhookEvent } from './lifecycle/webhook-event.ts';
import type { Tap } from './watching/tap.ts';

/** A key with its secret, for signatures of a backend. An app may have several, so that keys can be rotated. */
export interface AppKey {
  readonly key: string;
  readonly secret: string;
}

/** The limits of one app. The descriptions of the settings say where 0 means no limit. */
export interface AppLimits {
  readonly connections: number;
  readonly connectionsPerUser: number;
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
  readonly appendBytes: number;
}

/** A URL that receives the app's webhook events. */
export interface AppWebhook {
  readonly url: string;
  readonly events: readonly WebhookEvent['name'][];
  readonly batching: boolean;
}

/** Which channels of an app keep a history, and its limits. */
export interface HistoryRule {
  /** The name of a channel, or a prefix and `*`. */
  readonly channels: string;
  readonly seconds: number;
  /** Per channel. */
  readonly events: number;
  /** Per channel. Approximates memory. */
  readonly bytes: number;
  /** Events that a newcomer gets if it does not resume. */
  readonly replay: number;
}

/** How the presence channels of an app behave that fit. */
export interface PresenceRule {
  /** The name of a presence channel, or a prefix of such names and `*`. */
  readonly channels: string;
  /** In place of `limits.presenceMembers`; 0: no limit. */
  readonly members: number | null;
  /** How many members a newcomer of a large channel is shown; `null`: the channel is not large. */
  readonly shown: number | null;
  /** How many joins and leaves of a large channel are named per second. */
  readonly named: number;
  /** For how long a member stays whose last connection has ended without leaving. */
  readonly graceSeconds: number;
}

/** How an app takes grants and tokens. Source: identity, §2. */
export interface AppGrants {
  /** What every connection that is signed in may do. Patterns may end with `{user}`. */
  readonly channels: Readonly<Record<string, readonly Right[]>>;
  /** How much the clock of an issuer may differ. */
  readonly leewaySeconds: number;
  /** Where the key set of the issuer is fetched. */
  readonly jwksUrl: string | null;
  /** Public keys of the issuer, as PEM. Tokens of these and of the key set must have its `issuer` and `audience`. */
  readonly publicKeys: readonly string[];
  readonly issuer: string | null;
  /** Tokens may be for this audience, besides the app itself. */
  readonly audience: string | null;
  readonly channelsClaim: string;
  readonly userClaim: string;
}

/** The key set of the issuer of an app's tokens, as it was fetched last. */
export interface KeySet {
  /** The address that it was fetched from. If the app has another one now, the key set is not used. */
  readonly url: string;
  /** `undefined`: it could not be fetched, or not for so long that its keys are not used any more. */
  readonly keys: readonly KeySetKey[] | undefined;
  /** Another one after each change. */
  readonly version: number;
}

/** Which events of an app become notifications, and for whom. Either `interest` or `users` is given. */
export interface PushRule {
  /** The name of a channel, or a prefix and `*`. */
  readonly channels: string;
  /** Names of events. Client events must be named explicitly. */
  readonly events: readonly string[];
  /** The id of the push instance. */
  readonly instance: string;
  /** The interest; `*` stands for the part of the channel name that matched `*`. */
  readonly interest?: string | undefined;
  /** The path of the user ids in the event's data, with dots between the keys. */
  readonly users?: string | undefined;
  /** The payload of each platform. Texts may contain placeholders. */
  readonly apns?: Readonly<Record<string, unknown>> | undefined;
  readonly fcm?: Readonly<Record<string, unknown>> | undefined;
  readonly web?: Readonly<Record<string, unknown>> | undefined;
  readonly perSecond: number;
}

/**
 * One app: a tenant with channels of its own.
 *
 * There is one object per app for as long as the server runs. Only the app directory changes it, so everything that
 * refers to it sees a change at once.
 */
export interface App {
  readonly id: string;
  readonly name: string;
  readonly enabled: boolean;
  readonly keys: readonly AppKey[];
  readonly clientEvents: boolean;
  readonly subscriptionCounts: boolean;
  readonly watchlists: boolean;
  /** For how long a user without connections still counts as online. */
  readonly offlineSeconds: number;
  readonly authorizedConnectionsOnly: boolean;
  /** The origins whose pages may connect; empty: all. */
  readonly allowedOrigins: readonly string[];
  /** Events with at least this many bytes are compressed for clients that agree to it; 0: none, and no client is offered it. */
  readonly compressAboveBytes: number;
  /** `undefined`: it takes no grants. */
  readonly grants?: AppGrants | undefined;
  readonly limits: AppLimits;
  /** Of several rules that match a channel, the first one applies. */
  readonly history: readonly HistoryRule[];
  /** Of several rules that match a channel, the first one applies. */
  readonly presence: readonly PresenceRule[];
  readonly webhooks: readonly AppWebhook[];
  /** All rules that match an event apply. */
  readonly pushRules: readonly PushRule[];
  /** Only set on live objects; sent to other loops by messages of its own. */
  readonly keySet?: KeySet | undefined;
  /** Handles what happens in the app while somebody watches. Only set on live objects; never sent to another loop. */
  readonly tap?: Tap | undefined;
  /** When its keys were last used on this loop. Only set on live objects; never sent to another loop. */
  readonly keyUses?: KeyUses | undefined;
}

/** Returns the secret of one of the app's keys. */
export function secretOf(app: App, key: string): string | undefined {
  return app.keys.find((pair) => pair.key === key)?.secret;
}

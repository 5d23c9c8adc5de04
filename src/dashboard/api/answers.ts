// Printed from docs/reference/openapi.json by `npm run docs`.

/** Every operation of the admin API, by method and path. */
export interface Operations {
  'GET /server': {
    readonly path: Record<never, string>;
    readonly query: Record<never, string>;
    readonly body: undefined;
    readonly answer: Server;
  };
  'GET /conditions': {
    readonly path: Record<never, string>;
    readonly query: Record<never, string>;
    readonly body: undefined;
    readonly answer: { readonly checkedAtMs: number; readonly checked: number; readonly conditions: readonly Condition[]; readonly servers: readonly AskedServer[] };
  };
  'GET /figures': {
    readonly path: Record<never, string>;
    readonly query: { readonly since?: string | undefined };
    readonly body: undefined;
    readonly answer: Figures;
  };
  'GET /nodes': {
    readonly path: Record<never, string>;
    readonly query: Record<never, string>;
    readonly body: undefined;
    readonly answer: { readonly nodes: readonly Node[] };
  };
  'GET /memory': {
    readonly path: Record<never, string>;
    readonly query: Record<never, string>;
    readonly body: undefined;
    readonly answer: { readonly servers: readonly AskedServer[]; readonly memory: readonly ({ readonly server: string; readonly shares: readonly ({ readonly share: string; readonly usedBytes: number; readonly mostBytes: number | null })[] })[] };
  };
  'GET /sources': {
    readonly path: Record<never, string>;
    readonly query: Record<never, string>;
    readonly body: undefined;
    readonly answer: { readonly servers: readonly AskedServer[]; readonly sources: readonly Source[] };
  };
  'GET /apps': {
    readonly path: Record<never, string>;
    readonly query: { readonly secrets?: string | undefined };
    readonly body: undefined;
    readonly answer: { readonly apps: readonly App[]; readonly notServed: readonly ({ readonly id: string; readonly why: string })[] };
  };
  'POST /apps': {
    readonly path: Record<never, string>;
    readonly query: Record<never, string>;
    readonly body: NewApp;
    readonly answer: App;
  };
  'GET /apps/{id}': {
    readonly path: { readonly id: string };
    readonly query: { readonly secrets?: string | undefined };
    readonly body: undefined;
    readonly answer: App;
  };
  'PATCH /apps/{id}': {
    readonly path: { readonly id: string };
    readonly query: { readonly "dry-run"?: string | undefined };
    readonly body: AppChanges;
    readonly answer: ChangedApp;
  };
  'DELETE /apps/{id}': {
    readonly path: { readonly id: string };
    readonly query: Record<never, string>;
    readonly body: undefined;
    readonly answer: { readonly id: string; readonly deleted: true };
  };
  'POST /apps/{id}/keys': {
    readonly path: { readonly id: string };
    readonly query: Record<never, string>;
    readonly body: undefined;
    readonly answer: KeyPair;
  };
  'GET /apps/{id}/keys': {
    readonly path: { readonly id: string };
    readonly query: Record<never, string>;
    readonly body: undefined;
    readonly answer: { readonly servers: readonly AskedServer[]; readonly sinceMs: number; readonly keys: readonly UsedKey[] };
  };
  'DELETE /apps/{id}/keys/{key}': {
    readonly path: { readonly id: string; readonly key: string };
    readonly query: Record<never, string>;
    readonly body: undefined;
    readonly answer: App;
  };
  'POST /apps/{id}/disable': {
    readonly path: { readonly id: string };
    readonly query: Record<never, string>;
    readonly body: undefined;
    readonly answer: App;
  };
  'POST /apps/{id}/enable': {
    readonly path: { readonly id: string };
    readonly query: Record<never, string>;
    readonly body: undefined;
    readonly answer: App;
  };
  'GET /instances/{id}/keys': {
    readonly path: { readonly id: string };
    readonly query: Record<never, string>;
    readonly body: undefined;
    readonly answer: { readonly servers: readonly AskedServer[]; readonly sinceMs: number; readonly keys: readonly UsedSecretKey[] };
  };
  'POST /instances/{id}/keys': {
    readonly path: { readonly id: string };
    readonly query: Record<never, string>;
    readonly body: undefined;
    readonly answer: { readonly secretKey: string };
  };
  'GET /live': {
    readonly path: Record<never, string>;
    readonly query: Record<never, string>;
    readonly body: undefined;
    readonly answer: { readonly apps: readonly AppActivity[]; readonly servers: readonly ServerActivity[] };
  };
  'GET /apps/{id}/channels': {
    readonly path: { readonly id: string };
    readonly query: { readonly prefix?: string | undefined; readonly limit?: string | undefined; readonly after?: string | undefined };
    readonly body: undefined;
    readonly answer: { readonly channels: readonly Channel[]; readonly more: boolean; readonly next: string | null };
  };
  'GET /apps/{id}/usage': {
    readonly path: { readonly id: string };
    readonly query: { readonly days?: string | undefined; readonly unit?: string | undefined };
    readonly body: undefined;
    readonly answer: { readonly usage: readonly Usage[] };
  };
  'POST /apps/{id}/events': {
    readonly path: { readonly id: string };
    readonly query: Record<never, string>;
    readonly body: NewEvent;
    readonly answer: { readonly channels: readonly ReachedChannel[] };
  };
  'GET /apps/{id}/stream': {
    readonly path: { readonly id: string };
    readonly query: { readonly kinds?: string | undefined; readonly channel?: string | undefined; readonly prefix?: string | undefined; readonly socket?: string | undefined; readonly user?: string | undefined; readonly text?: string | undefined };
    readonly body: undefined;
    readonly answer: unknown;
  };
  'POST /apps/{id}/check-auth': {
    readonly path: { readonly id: string };
    readonly query: Record<never, string>;
    readonly body: Authorisation;
    readonly answer: CheckedAuthorisation;
  };
  'POST /apps/{id}/revocations': {
    readonly path: { readonly id: string };
    readonly query: Record<never, string>;
    readonly body: RevocationRequest;
    readonly answer: Revocation;
  };
  'GET /apps/{id}/revocations': {
    readonly path: { readonly id: string };
    readonly query: { readonly limit?: string | undefined; readonly after?: string | undefined };
    readonly body: undefined;
    readonly answer: { readonly revocations: readonly Revocation[]; readonly next: string | null };
  };
  'GET /apps/{id}/channels/{name}': {
    readonly path: { readonly id: string; readonly name: string };
    readonly query: Record<never, string>;
    readonly body: undefined;
    readonly answer: ChannelDetails;
  };
  'GET /apps/{id}/connections': {
    readonly path: { readonly id: string };
    readonly query: { readonly user?: string | undefined; readonly channel?: string | undefined; readonly address?: string | undefined; readonly limit?: string | undefined; readonly after?: string | undefined };
    readonly body: undefined;
    readonly answer: { readonly servers: readonly AskedServer[]; readonly connections: readonly Connection[]; readonly next: string | null };
  };
  'GET /apps/{id}/connections/{socket}': {
    readonly path: { readonly id: string; readonly socket: string };
    readonly query: Record<never, string>;
    readonly body: undefined;
    readonly answer: ConnectionDetails;
  };
  'DELETE /apps/{id}/connections/{socket}': {
    readonly path: { readonly id: string; readonly socket: string };
    readonly query: Record<never, string>;
    readonly body: undefined;
    readonly answer: { readonly socketId: string; readonly closed: true };
  };
  'GET /apps/{id}/channels/{name}/history': {
    readonly path: { readonly id: string; readonly name: string };
    readonly query: { readonly limit?: string | undefined; readonly before?: string | undefined; readonly after?: string | undefined };
    readonly body: undefined;
    readonly answer: ChannelHistory;
  };
  'DELETE /apps/{id}/channels/{name}/history': {
    readonly path: { readonly id: string; readonly name: string };
    readonly query: Record<never, string>;
    readonly body: undefined;
    readonly answer: { readonly name: string; readonly forgotten: true };
  };
  'GET /apps/{id}/problems': {
    readonly path: { readonly id: string };
    readonly query: Record<never, string>;
    readonly body: undefined;
    readonly answer: { readonly servers: readonly AskedServer[]; readonly problems: readonly Problem[] };
  };
  'GET /instances': {
    readonly path: Record<never, string>;
    readonly query: { readonly secrets?: string | undefined };
    readonly body: undefined;
    readonly answer: { readonly instances: readonly Instance[]; readonly notServed: readonly ({ readonly id: string; readonly why: string })[] };
  };
  'POST /instances': {
    readonly path: Record<never, string>;
    readonly query: Record<never, string>;
    readonly body: NewInstance;
    readonly answer: Instance;
  };
  'GET /instances/{id}': {
    readonly path: { readonly id: string };
    readonly query: { readonly secrets?: string | undefined };
    readonly body: undefined;
    readonly answer: Instance;
  };
  'PATCH /instances/{id}': {
    readonly path: { readonly id: string };
    readonly query: { readonly "dry-run"?: string | undefined };
    readonly body: InstanceChanges;
    readonly answer: ChangedInstance;
  };
  'DELETE /instances/{id}': {
    readonly path: { readonly id: string };
    readonly query: Record<never, string>;
    readonly body: undefined;
    readonly answer: { readonly id: string; readonly deleted: true; readonly devices: number };
  };
  'DELETE /instances/{id}/keys/{key}': {
    readonly path: { readonly id: string; readonly key: string };
    readonly query: Record<never, string>;
    readonly body: undefined;
    readonly answer: Instance;
  };
  'GET /instances/{id}/gateways': {
    readonly path: { readonly id: string };
    readonly query: Record<never, string>;
    readonly body: undefined;
    readonly answer: { readonly servers: readonly AskedServer[]; readonly gateways: readonly Gateway[] };
  };
  'POST /instances/{id}/gateways/check': {
    readonly path: { readonly id: string };
    readonly query: Record<never, string>;
    readonly body: GatewayCheck;
    readonly answer: { readonly answers: readonly GatewayAnswer[] };
  };
  'GET /instances/{id}/stream': {
    readonly path: { readonly id: string };
    readonly query: { readonly kinds?: string | undefined; readonly publish?: string | undefined; readonly device?: string | undefined; readonly user?: string | undefined; readonly platform?: string | undefined; readonly text?: string | undefined };
    readonly body: undefined;
    readonly answer: unknown;
  };
  'POST /instances/{id}/previews': {
    readonly path: { readonly id: string };
    readonly query: Record<never, string>;
    readonly body: NewPublish;
    readonly answer: PublishPreview;
  };
  'POST /instances/{id}/publishes': {
    readonly path: { readonly id: string };
    readonly query: { readonly idempotencyKey?: string | undefined };
    readonly body: NewPublish;
    readonly answer: { readonly publishId: string };
  };
  'GET /instances/{id}/publishes': {
    readonly path: { readonly id: string };
    readonly query: { readonly state?: string | undefined; readonly limit?: string | undefined; readonly before?: string | undefined };
    readonly body: undefined;
    readonly answer: { readonly publishes: readonly Publish[]; readonly next: string | null };
  };
  'GET /instances/{id}/devices': {
    readonly path: { readonly id: string };
    readonly query: { readonly id?: string | undefined; readonly user?: string | undefined; readonly interest?: string | undefined; readonly platform?: string | undefined; readonly kind?: string | undefined; readonly import?: string | undefined; readonly neverAccepted?: string | undefined; readonly paused?: string | undefined; readonly registeredBefore?: string | undefined; readonly seenBefore?: string | undefined; readonly limit?: string | undefined; readonly after?: string | undefined };
    readonly body: undefined;
    readonly answer: { readonly devices: readonly Device[]; readonly next: string | null };
  };
  'POST /instances/{id}/devices/remove': {
    readonly path: { readonly id: string };
    readonly query: Record<never, string>;
    readonly body: { readonly platform?: Platform | undefined; readonly neverAccepted?: boolean | undefined; readonly registeredBefore?: string | undefined; readonly seenBefore?: string | undefined; readonly dryRun?: boolean | undefined; readonly after?: string | undefined };
    readonly answer: { readonly devices: number; readonly dryRun: boolean; readonly next: string | null };
  };
  'GET /instances/{id}/devices/{device}': {
    readonly path: { readonly id: string; readonly device: string };
    readonly query: Record<never, string>;
    readonly body: undefined;
    readonly answer: DeviceDetails;
  };
  'DELETE /instances/{id}/devices/{device}': {
    readonly path: { readonly id: string; readonly device: string };
    readonly query: Record<never, string>;
    readonly body: undefined;
    readonly answer: { readonly id: string; readonly removed: true };
  };
  'GET /instances/{id}/devices/{device}/publishes': {
    readonly path: { readonly id: string; readonly device: string };
    readonly query: { readonly limit?: string | undefined; readonly after?: string | undefined };
    readonly body: undefined;
    readonly answer: { readonly publishes: readonly DevicePublish[]; readonly looked: number; readonly next: string | null };
  };
  'GET /instances/{id}/publishes/{publish}/devices': {
    readonly path: { readonly id: string; readonly publish: string };
    readonly query: { readonly reason?: string | undefined; readonly platform?: string | undefined; readonly state?: string | undefined; readonly limit?: string | undefined; readonly after?: string | undefined };
    readonly body: undefined;
    readonly answer: { readonly devices: readonly UnreachedDevice[]; readonly next: string | null };
  };
  'GET /instances/{id}/publishes/{publish}/devices/{device}': {
    readonly path: { readonly id: string; readonly publish: string; readonly device: string };
    readonly query: Record<never, string>;
    readonly body: undefined;
    readonly answer: Timeline;
  };
  'GET /users/{user}': {
    readonly path: { readonly user: string };
    readonly query: { readonly app?: string | undefined; readonly channel?: string | undefined; readonly instance?: string | undefined };
    readonly body: undefined;
    readonly answer: User;
  };
  'GET /publishes/{publish}': {
    readonly path: { readonly publish: string };
    readonly query: Record<never, string>;
    readonly body: undefined;
    readonly answer: { readonly id: string; readonly instance: string };
  };
  'GET /instances/{id}/publishes/{publish}': {
    readonly path: { readonly id: string; readonly publish: string };
    readonly query: Record<never, string>;
    readonly body: undefined;
    readonly answer: PublishDetails;
  };
  'GET /instances/{id}/publishes/{publish}/users': {
    readonly path: { readonly id: string; readonly publish: string };
    readonly query: { readonly state?: string | undefined; readonly limit?: string | undefined; readonly after?: string | undefined };
    readonly body: undefined;
    readonly answer: { readonly users: readonly PublishUser[]; readonly next: string | null };
  };
  'POST /instances/{id}/publishes/{publish}/cancel': {
    readonly path: { readonly id: string; readonly publish: string };
    readonly query: Record<never, string>;
    readonly body: undefined;
    readonly answer: { readonly id: string; readonly state: PublishState; readonly cancelled: boolean };
  };
  'GET /webhooks': {
    readonly path: Record<never, string>;
    readonly query: { readonly app?: string | undefined; readonly instance?: string | undefined; readonly state?: string | undefined; readonly limit?: string | undefined; readonly before?: string | undefined };
    readonly body: undefined;
    readonly answer: { readonly webhooks: readonly Webhook[]; readonly next: string | null };
  };
  'GET /webhooks/{id}': {
    readonly path: { readonly id: string };
    readonly query: Record<never, string>;
    readonly body: undefined;
    readonly answer: WebhookDetails;
  };
  'POST /webhooks/{id}/replay': {
    readonly path: { readonly id: string };
    readonly query: Record<never, string>;
    readonly body: undefined;
    readonly answer: { readonly id: string; readonly state: "waiting" };
  };
  'GET /webhook-endpoints': {
    readonly path: Record<never, string>;
    readonly query: { readonly app?: string | undefined; readonly instance?: string | undefined };
    readonly body: undefined;
    readonly answer: { readonly servers: readonly AskedServer[]; readonly endpoints: readonly WebhookEndpoint[] };
  };
  'POST /webhook-replays': {
    readonly path: Record<never, string>;
    readonly query: Record<never, string>;
    readonly body: { readonly app?: string | undefined; readonly instance?: string | undefined; readonly url?: string | undefined; readonly state?: "failed" | "delivered" | undefined; readonly createdFromMs?: number | undefined; readonly createdToMs?: number | undefined; readonly before?: string | undefined; readonly limit?: number | undefined };
    readonly answer: { readonly replayed: number; readonly next: string | null };
  };
  'POST /apps/{id}/webhook-tests': {
    readonly path: { readonly id: string };
    readonly query: Record<never, string>;
    readonly body: { readonly url: string };
    readonly answer: { readonly outcome: WebhookOutcome; readonly status: number | null; readonly durationMs: number; readonly answer: string | null };
  };
  'GET /log': {
    readonly path: Record<never, string>;
    readonly query: { readonly level?: string | undefined; readonly text?: string | undefined; readonly before?: string | undefined; readonly limit?: string | undefined };
    readonly body: undefined;
    readonly answer: { readonly servers: readonly AskedServer[]; readonly lines: readonly LogLine[]; readonly next: number | null };
  };
  'GET /log/stream': {
    readonly path: Record<never, string>;
    readonly query: { readonly level?: string | undefined; readonly text?: string | undefined; readonly after?: string | undefined };
    readonly body: undefined;
    readonly answer: unknown;
  };
  'POST /session': {
    readonly path: Record<never, string>;
    readonly query: Record<never, string>;
    readonly body: { readonly password: string } | { readonly token: string };
    readonly answer: Session;
  };
  'GET /session': {
    readonly path: Record<never, string>;
    readonly query: { readonly nobody?: string | undefined };
    readonly body: undefined;
    readonly answer: Session | null;
  };
  'DELETE /session': {
    readonly path: Record<never, string>;
    readonly query: Record<never, string>;
    readonly body: undefined;
    readonly answer: Readonly<Record<string, unknown>>;
  };
  'POST /session/link': {
    readonly path: Record<never, string>;
    readonly query: Record<never, string>;
    readonly body: undefined;
    readonly answer: { readonly token: string };
  };
  'GET /audit': {
    readonly path: Record<never, string>;
    readonly query: { readonly limit?: string | undefined; readonly before?: string | undefined };
    readonly body: undefined;
    readonly answer: { readonly entries: readonly AuditEntry[]; readonly next: string | null };
  };
  'GET /openapi.json': {
    readonly path: Record<never, string>;
    readonly query: Record<never, string>;
    readonly body: undefined;
    readonly answer: { readonly openapi: string };
  };
}

export type ApnsSettings = {
  readonly teamId: string;
  readonly keyId: string;
  readonly privateKeyFile?: string | undefined;
  readonly environment: "production" | "sandbox" | "auto";
  readonly origin: string | null;
  readonly caFile: string | null;
};

export type ApnsSettingsInput = {
  readonly teamId?: string | undefined;
  readonly keyId?: string | undefined;
  readonly privateKeyFile?: string | undefined;
  readonly privateKey?: string | undefined;
  readonly environment?: "production" | "sandbox" | "auto" | undefined;
  readonly origin?: string | null | undefined;
  readonly caFile?: string | null | undefined;
};

export type App = {
  readonly id: string;
  readonly name: string;
  readonly enabled: boolean;
  readonly keys: readonly AppKey[];
  readonly clientEvents: boolean;
  readonly subscriptionCounts: boolean;
  readonly watchlists: boolean;
  readonly offlineSeconds: number;
  readonly authorizedConnectionsOnly: boolean;
  readonly allowedOrigins: readonly string[];
  readonly compressAboveBytes: number;
  readonly grants?: AppGrants | undefined;
  readonly limits: AppLimits;
  readonly history: readonly HistoryRule[];
  readonly presence: readonly PresenceRule[];
  readonly webhooks: readonly AppWebhook[];
  readonly pushRules: readonly PushRule[];
  readonly source: "configuration" | "store";
};

export type AppActivity = {
  readonly id: string;
  readonly connections: number;
  readonly channels: number;
  readonly messagesToday: number;
  readonly clientMessagesToday: number;
};

export type AppChanges = {
  readonly clientEvents?: boolean | undefined;
  readonly subscriptionCounts?: boolean | undefined;
  readonly watchlists?: boolean | undefined;
  readonly offlineSeconds?: number | undefined;
  readonly authorizedConnectionsOnly?: boolean | undefined;
  readonly allowedOrigins?: readonly string[] | undefined;
  readonly compressAboveBytes?: number | undefined;
  readonly grants?: AppGrantsInput | undefined;
  readonly limits?: AppLimitsInput | undefined;
  readonly history?: readonly HistoryRuleInput[] | undefined;
  readonly presence?: readonly PresenceRuleInput[] | undefined;
  readonly webhooks?: readonly AppWebhookInput[] | undefined;
  readonly pushRules?: readonly PushRuleInput[] | undefined;
  readonly name?: string | undefined;
  readonly enabled?: boolean | undefined;
};

export type AppGrants = {
  readonly channels: Readonly<Record<string, readonly ("subscribe" | "client-events")[]>>;
  readonly leewaySeconds: number;
  readonly jwksUrl: string | null;
  readonly publicKeys: readonly string[];
  readonly issuer: string | null;
  readonly audience: string | null;
  readonly channelsClaim: string;
  readonly userClaim: string;
};

export type AppGrantsInput = {
  readonly channels?: Readonly<Record<string, readonly ("subscribe" | "client-events")[]>> | undefined;
  readonly leewaySeconds?: number | undefined;
  readonly jwksUrl?: string | null | undefined;
  readonly publicKeys?: readonly string[] | undefined;
  readonly issuer?: string | null | undefined;
  readonly audience?: string | null | undefined;
  readonly channelsClaim?: string | undefined;
  readonly userClaim?: string | undefined;
};

export type AppKey = {
  readonly key: string;
  readonly secret?: string | undefined;
};

export type AppLimits = {
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
};

export type AppLimitsInput = {
  readonly connections?: number | undefined;
  readonly connectionsPerUser?: number | undefined;
  readonly messagesPerDay?: number | undefined;
  readonly eventDataBytes?: number | undefined;
  readonly channelsPerTrigger?: number | undefined;
  readonly eventsPerBatch?: number | undefined;
  readonly presenceMembers?: number | undefined;
  readonly clientEventsPerSecond?: number | undefined;
  readonly channelsPerConnection?: number | undefined;
  readonly subscriptionsPerSecond?: number | undefined;
  readonly memberChangesPerSecond?: number | undefined;
  readonly triggersPerSecond?: number | undefined;
  readonly queriesPerSecond?: number | undefined;
  readonly historyBytes?: number | undefined;
  readonly appendBytes?: number | undefined;
};

export type AppWebhook = {
  readonly url: string;
  readonly events: readonly string[];
  readonly batching: boolean;
};

export type AppWebhookInput = {
  readonly url: string;
  readonly events: readonly ("channel_occupied" | "channel_vacated" | "member_added" | "member_removed" | "client_event" | "cache_miss" | "subscription_count" | "user_online" | "user_offline")[];
  readonly batching?: boolean | undefined;
};

export type AskedServer = {
  readonly name: string;
  readonly away: boolean;
};

export type AuditEntry = {
  readonly id: string;
  readonly at: string;
  readonly lastAt: string;
  readonly times: number;
  readonly user: string | null;
  readonly how: "password" | "proxy";
  readonly address: string | null;
  readonly operation: string;
  readonly subject: string | null;
  readonly detail: string;
  readonly status: number;
};

export type Authorisation = {
  readonly channel: string;
  readonly socketId: string;
  readonly auth: string;
  readonly channelData?: string | undefined;
};

export type CachedEvent = {
  readonly name: string;
  readonly data: string | null;
  readonly bytes: number;
  readonly ageMs: number;
  readonly value: GrowingValue | null;
};

export type ChangedApp = {
  readonly id: string;
  readonly name: string;
  readonly enabled: boolean;
  readonly keys: readonly AppKey[];
  readonly clientEvents: boolean;
  readonly subscriptionCounts: boolean;
  readonly watchlists: boolean;
  readonly offlineSeconds: number;
  readonly authorizedConnectionsOnly: boolean;
  readonly allowedOrigins: readonly string[];
  readonly compressAboveBytes: number;
  readonly grants?: AppGrants | undefined;
  readonly limits: AppLimits;
  readonly history: readonly HistoryRule[];
  readonly presence: readonly PresenceRule[];
  readonly webhooks: readonly AppWebhook[];
  readonly pushRules: readonly PushRule[];
  readonly source: "configuration" | "store";
  readonly changes?: readonly SettingChange[] | undefined;
};

export type ChangedInstance = {
  readonly id: string;
  readonly name: string;
  readonly secretKeys: readonly string[];
  readonly app?: string | undefined;
  readonly limits: InstanceLimits;
  readonly whenUserIsFull: "refuse" | "replace-oldest";
  readonly timeZone: string;
  readonly quietHours: QuietHours | null;
  readonly cap: NotificationCap | null;
  readonly apns?: ApnsSettings | undefined;
  readonly fcm?: FcmSettings | undefined;
  readonly web?: WebSettings | undefined;
  readonly webhooks: readonly InstanceWebhook[];
  readonly source: "configuration" | "store";
  readonly changes?: readonly SettingChange[] | undefined;
};

export type Channel = {
  readonly name: string;
  readonly subscriptions: number;
  readonly users: number;
};

export type ChannelDetails = {
  readonly name: string;
  readonly occupied: boolean;
  readonly subscriptions: number;
  readonly users: number;
  readonly members: readonly Member[];
  readonly cached: CachedEvent | null;
  readonly servers: readonly AskedServer[];
  readonly connections: readonly Connection[];
  readonly moreConnections: boolean;
};

export type ChannelHistory = {
  readonly name: string;
  readonly rule: { readonly seconds: number; readonly events: number; readonly bytes: number; readonly replay: number } | null;
  readonly events: readonly StoredEvent[];
  readonly lastId: string | null;
  readonly more: boolean;
  readonly complete: boolean | null;
};

export type CheckedAuthorisation = {
  readonly ok: boolean;
  readonly text: string;
  readonly expected: { readonly signed: string };
};

export type ClientLibrary = {
  readonly name: string;
  readonly version: string;
  readonly protocol: string;
};

export type Condition = {
  readonly id: string;
  readonly level: "bad" | "warn";
  readonly text: string;
  readonly advice: string;
  readonly sinceMs: number;
  readonly app?: string | undefined;
  readonly instance?: string | undefined;
  readonly webhookUrl?: string | undefined;
  readonly servers: readonly string[];
};

export type Connection = {
  readonly socketId: string;
  readonly user: string | null;
  readonly address: string | null;
  readonly transport: "websocket" | "http" | "sse";
  readonly client: ClientLibrary | null;
  readonly openedAtMs: number;
  readonly heardAtMs: number;
  readonly waitingBytes: number;
  readonly channels: number;
  readonly server: string;
};

export type ConnectionDetails = {
  readonly socketId: string;
  readonly user: string | null;
  readonly address: string | null;
  readonly transport: "websocket" | "http" | "sse";
  readonly client: ClientLibrary | null;
  readonly openedAtMs: number;
  readonly heardAtMs: number;
  readonly waitingBytes: number;
  readonly channels: number;
  readonly server: string;
  readonly channelNames: readonly string[];
  readonly watching: number;
  readonly grants: readonly ConnectionGrant[];
};

export type ConnectionGrant = {
  readonly by: "sign-in" | "token" | "setting";
  readonly patterns: readonly string[];
  readonly endsAtMs: number | null;
};

export type Device = {
  readonly id: string;
  readonly platform: Platform;
  readonly kind: DeviceKind | null;
  readonly import: string | null;
  readonly userId: string | null;
  readonly registeredAt: string;
  readonly seenAt: string;
  readonly accepted: boolean;
  readonly acceptedAt: string | null;
  readonly pausedUntil: string | null;
  readonly language: string | null;
  readonly timeZone: string | null;
  readonly quietHours: { readonly from: string; readonly to: string } | "none" | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly client: string;
};

export type DeviceCounts = {
  readonly planned: number;
  readonly accepted: number;
  readonly retrying: number;
  readonly failed: number;
  readonly pruned: number;
  readonly expired: number;
  readonly cancelled: number;
};

export type DeviceDetails = {
  readonly id: string;
  readonly platform: Platform;
  readonly registeredAt: string;
  readonly registered: RegisteredDevice | null;
  readonly removed: { readonly at: string; readonly reason: string; readonly why: string; readonly advice: string | null } | null;
};

export type DeviceKind = "liveactivity-start" | "liveactivity" | "voip" | "widgets" | "controls" | "complication" | "location" | "fileprovider" | "pushtotalk" | "channel" | "channel-latest";

export type DevicePublish = {
  readonly publish: string;
  readonly device: string;
  readonly createdAt: string;
  readonly state: PublishState;
  readonly outcome: TimelineEntry;
};

export type FcmSettings = {
  readonly serviceAccountFile?: string | undefined;
  readonly metadata: boolean;
  readonly projectId?: string | undefined;
  readonly origin: string | null;
  readonly caFile: string | null;
};

export type FcmSettingsInput = {
  readonly serviceAccountFile?: string | undefined;
  readonly serviceAccount?: string | undefined;
  readonly metadata?: boolean | undefined;
  readonly projectId?: string | undefined;
  readonly origin?: string | null | undefined;
  readonly caFile?: string | null | undefined;
};

export type Figures = {
  readonly nowMs: number;
  readonly stepMs: number;
  readonly fromMs: number;
  readonly series: { readonly connections: readonly (number | null)[]; readonly deliveredPerSecond: readonly (number | null)[]; readonly eventsPerSecond: readonly (number | null)[]; readonly loopLateMs: readonly (number | null)[]; readonly memoryBytes: readonly (number | null)[]; readonly webhooksWaiting: readonly (number | null)[]; readonly pushWaiting: readonly (number | null)[]; readonly resumedPerSecond: readonly (number | null)[]; readonly gapsPerSecond: readonly (number | null)[] };
  readonly servers: readonly AskedServer[];
};

export type Gateway = {
  readonly platform: Platform;
  readonly configured: boolean;
  readonly pauses: readonly GatewayPause[];
  readonly morePauses: number;
  readonly acceptedAtMs: number | null;
  readonly refusal: { readonly atMs: number; readonly reason: string; readonly words: string; readonly why: string; readonly advice: string | null } | null;
};

export type GatewayAnswer = {
  readonly origin: string | null;
  readonly result: "accepted" | "refused" | "silent";
  readonly reason: string;
  readonly words: string;
  readonly why: string;
  readonly advice: string | null;
  readonly durationMs: number;
};

export type GatewayCheck = {
  readonly platform: Platform;
  readonly apns?: { readonly teamId: string; readonly keyId: string; readonly privateKey: string; readonly environment?: "production" | "sandbox" | "auto" | undefined } | undefined;
  readonly fcm?: { readonly serviceAccount: string } | undefined;
};

export type GatewayPause = {
  readonly origin: string | null;
  readonly cause: "gateway" | "credential";
  readonly reason: string;
  readonly words: string;
  readonly why: string;
  readonly advice: string | null;
  readonly sinceMs: number;
  readonly servers: readonly string[];
  readonly unproven: boolean;
};

export type GatewayRequest = {
  readonly platform: Platform;
  readonly only: "safari" | null;
  readonly language: string | null;
  readonly configured: boolean;
  readonly bytes: number;
  readonly bytesMax: number;
  readonly method: "POST";
  readonly url: string;
  readonly headers: readonly ({ readonly name: string; readonly value: string })[];
  readonly body: string;
};

export type GrowingValue = {
  readonly id: string;
  readonly length: number;
  readonly hasEnded: boolean;
};

export type HistoryRule = {
  readonly channels: string;
  readonly seconds: number;
  readonly events: number;
  readonly bytes: number;
  readonly replay: number;
};

export type HistoryRuleInput = {
  readonly channels: string;
  readonly seconds?: number | undefined;
  readonly events?: number | undefined;
  readonly bytes?: number | undefined;
  readonly replay?: number | undefined;
};

export type Instance = {
  readonly id: string;
  readonly name: string;
  readonly secretKeys: readonly string[];
  readonly app?: string | undefined;
  readonly limits: InstanceLimits;
  readonly whenUserIsFull: "refuse" | "replace-oldest";
  readonly timeZone: string;
  readonly quietHours: QuietHours | null;
  readonly cap: NotificationCap | null;
  readonly apns?: ApnsSettings | undefined;
  readonly fcm?: FcmSettings | undefined;
  readonly web?: WebSettings | undefined;
  readonly webhooks: readonly InstanceWebhook[];
  readonly source: "configuration" | "store";
};

export type InstanceChanges = {
  readonly app?: string | null | undefined;
  readonly limits?: InstanceLimitsInput | undefined;
  readonly whenUserIsFull?: "refuse" | "replace-oldest" | undefined;
  readonly timeZone?: string | undefined;
  readonly quietHours?: QuietHoursInput | null | undefined;
  readonly cap?: NotificationCapInput | null | undefined;
  readonly apns?: ApnsSettingsInput | null | undefined;
  readonly fcm?: FcmSettingsInput | null | undefined;
  readonly web?: WebSettingsInput | null | undefined;
  readonly webhooks?: readonly InstanceWebhookInput[] | undefined;
  readonly name?: string | undefined;
};

export type InstanceLimits = {
  readonly devices: number;
  readonly interests: number;
  readonly publishesPerSecond: number;
  readonly backendRequestsPerSecond: number;
  readonly pendingPublishBytes: number;
  readonly retryHours: number;
  readonly importRowsPerSecond: number;
  readonly deviceRequestsPerSecond: number;
  readonly deviceRowsPerSecond: number;
  readonly reportsPerSecond: number;
};

export type InstanceLimitsInput = {
  readonly devices?: number | undefined;
  readonly interests?: number | undefined;
  readonly publishesPerSecond?: number | undefined;
  readonly backendRequestsPerSecond?: number | undefined;
  readonly pendingPublishBytes?: number | undefined;
  readonly retryHours?: number | undefined;
  readonly importRowsPerSecond?: number | undefined;
  readonly deviceRequestsPerSecond?: number | undefined;
  readonly deviceRowsPerSecond?: number | undefined;
  readonly reportsPerSecond?: number | undefined;
};

export type InstanceWebhook = {
  readonly url: string;
  readonly events: readonly string[];
  readonly secret?: string | undefined;
  readonly customData: unknown;
};

export type InstanceWebhookInput = {
  readonly url: string;
  readonly events: readonly ("v1.PublishToUsersAttempt" | "v1.UserNotificationAcknowledgement" | "v1.UserNotificationOpen")[];
  readonly secret: string;
  readonly customData?: unknown | undefined;
};

export type KeyPair = {
  readonly key: string;
  readonly secret: string;
};

export type KeyPairInput = {
  readonly key: string;
  readonly secret: string;
};

export type Listener = {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
};

export type LogLine = {
  readonly n: number;
  readonly atMs: number;
  readonly level: "debug" | "info" | "warn" | "error";
  readonly message: string;
  readonly fields: Readonly<Record<string, string | number | boolean>>;
  readonly server: string;
};

export type Member = {
  readonly userId: string;
  readonly userInfo: string | null;
};

export type NewApp = {
  readonly clientEvents?: boolean | undefined;
  readonly subscriptionCounts?: boolean | undefined;
  readonly watchlists?: boolean | undefined;
  readonly offlineSeconds?: number | undefined;
  readonly authorizedConnectionsOnly?: boolean | undefined;
  readonly allowedOrigins?: readonly string[] | undefined;
  readonly compressAboveBytes?: number | undefined;
  readonly grants?: AppGrantsInput | undefined;
  readonly limits?: AppLimitsInput | undefined;
  readonly history?: readonly HistoryRuleInput[] | undefined;
  readonly presence?: readonly PresenceRuleInput[] | undefined;
  readonly webhooks?: readonly AppWebhookInput[] | undefined;
  readonly pushRules?: readonly PushRuleInput[] | undefined;
  readonly name?: string | undefined;
  readonly enabled?: boolean | undefined;
  readonly id?: string | undefined;
  readonly keys?: readonly KeyPairInput[] | undefined;
};

export type NewEvent = {
  readonly name: string;
  readonly channels: readonly string[];
  readonly data: string;
  readonly socketId?: string | undefined;
};

export type NewInstance = {
  readonly app?: string | null | undefined;
  readonly limits?: InstanceLimitsInput | undefined;
  readonly whenUserIsFull?: "refuse" | "replace-oldest" | undefined;
  readonly timeZone?: string | undefined;
  readonly quietHours?: QuietHoursInput | null | undefined;
  readonly cap?: NotificationCapInput | null | undefined;
  readonly apns?: ApnsSettingsInput | null | undefined;
  readonly fcm?: FcmSettingsInput | null | undefined;
  readonly web?: WebSettingsInput | null | undefined;
  readonly webhooks?: readonly InstanceWebhookInput[] | undefined;
  readonly name?: string | undefined;
  readonly id?: string | undefined;
  readonly secretKeys?: readonly string[] | undefined;
};

export type NewPublish = {
  readonly interests?: unknown | undefined;
  readonly users?: unknown | undefined;
  readonly apns?: unknown | undefined;
  readonly fcm?: unknown | undefined;
  readonly web?: unknown | undefined;
  readonly texts?: unknown | undefined;
  readonly live?: unknown | undefined;
  readonly webhookUrl?: unknown | undefined;
  readonly sendAt?: unknown | undefined;
  readonly sendAtLocal?: unknown | undefined;
  readonly urgent?: unknown | undefined;
  readonly perSecond?: unknown | undefined;
};

export type Node = {
  readonly name: string;
  readonly answers: boolean;
  readonly isAsked: boolean;
  readonly heardAtMs: number;
  readonly silentSinceMs: number | null;
  readonly report: NodeReport | null;
};

export type NodeReport = {
  readonly version: string;
  readonly startedAtMs: number;
  readonly threads: readonly ({ readonly name: string; readonly lateMs: number | null })[];
  readonly connections: number | null;
  readonly eventsPerSecond: number | null;
  readonly deliveredPerSecond: number | null;
  readonly memoryBytes: number | null;
  readonly room: { readonly connections: number; readonly limitedBy: "setting" | "open-files" | "memory" } | null;
  readonly engine: { readonly type: "memory" | "redis"; readonly awaySinceMs: number | null; readonly why: string | null };
  readonly notReady: readonly string[];
  readonly conditions: { readonly bad: number; readonly warn: number };
};

export type NotificationCap = {
  readonly notifications: number;
  readonly hours: number;
};

export type NotificationCapInput = {
  readonly notifications: number;
  readonly hours: number;
};

export type Platform = "apns" | "fcm" | "web";

export type PresenceRule = {
  readonly channels: string;
  readonly members: number | null;
  readonly shown: number | null;
  readonly named: number;
  readonly graceSeconds: number;
};

export type PresenceRuleInput = {
  readonly channels: string;
  readonly members?: number | null | undefined;
  readonly shown?: number | null | undefined;
  readonly named?: number | undefined;
  readonly graceSeconds?: number | undefined;
};

export type Problem = {
  readonly source: "client" | "connection" | "backend";
  readonly kind: string;
  readonly text: string;
  readonly advice: string;
  readonly count: number;
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  readonly server: string;
  readonly example: { readonly text: string; readonly socket?: string | undefined; readonly user?: string | undefined; readonly address?: string | undefined; readonly path?: string | undefined };
};

export type Publish = {
  readonly id: string;
  readonly state: PublishState;
  readonly target: PublishTarget;
  readonly createdAtMs: number;
  readonly sendAtMs: number | null;
  readonly finishedAtMs: number | null;
  readonly delivered: number;
  readonly opened: number;
  readonly devices: DeviceCounts;
  readonly paused: boolean;
};

export type PublishDetails = {
  readonly id: string;
  readonly state: PublishState;
  readonly target: PublishTarget;
  readonly createdAtMs: number;
  readonly sendAtMs: number | null;
  readonly finishedAtMs: number | null;
  readonly delivered: number;
  readonly opened: number;
  readonly dueAtMs: number;
  readonly nextAtMs: number | null;
  readonly lastAtMs: number | null;
  readonly platforms: { readonly apns: DeviceCounts; readonly fcm: DeviceCounts; readonly web: DeviceCounts };
  readonly live: PublishLive | null;
  readonly rule: { readonly app: string; readonly channel: string; readonly event: string } | null;
  readonly payloads: string | null;
  readonly seconds: { readonly half: number; readonly most: number } | null;
  readonly reasons: readonly PublishReason[];
  readonly pauses: readonly PublishPause[];
  readonly servers: readonly AskedServer[];
};

export type PublishLive = {
  readonly state: "scheduled" | "asking" | "done" | "skipped";
  readonly push: "absent" | "always";
  readonly waitSeconds: number;
  readonly users: number;
  readonly reached: number;
  readonly silent: number;
  readonly absent: number;
  readonly connections: number;
  readonly why: string | null;
  readonly advice: string | null;
};

export type PublishPause = {
  readonly platform: Platform;
  readonly origin: string | null;
  readonly cause: "gateway" | "credential";
  readonly reason: string;
  readonly words: string;
  readonly why: string;
  readonly advice: string | null;
  readonly sinceMs: number;
  readonly servers: readonly string[];
  readonly devices: number | null;
};

export type PublishPreview = {
  readonly faults: readonly ({ readonly field: string; readonly rule: string })[];
  readonly requests: readonly GatewayRequest[];
  readonly audience: { readonly devices: number; readonly platforms: { readonly apns: number; readonly fcm: number; readonly web: number }; readonly later: number; readonly quiet: number; readonly languages: readonly ({ readonly language: string; readonly devices: number })[]; readonly overCap: number; readonly tooLate: number; readonly more: boolean } | null;
  readonly live: { readonly asked: number; readonly reached: number; readonly silent: number; readonly absent: number } | null;
};

export type PublishReason = {
  readonly platform: Platform;
  readonly reason: string;
  readonly devices: number;
  readonly why: string;
  readonly advice: string | null;
};

export type PublishState = "scheduled" | "planning" | "delivering" | "finished" | "cancelled";

export type PublishTarget = {
  readonly kind: "interests" | "users";
  readonly count: number | null;
  readonly names: readonly string[] | null;
};

export type PublishUser = {
  readonly user: string;
  readonly state: "reached" | "silent" | "absent";
  readonly connections: number;
  readonly answeredAfterMs: number | null;
  readonly notified: boolean | null;
};

export type PushRule = {
  readonly channels: string;
  readonly events: readonly string[];
  readonly instance: string;
  readonly interest?: string | undefined;
  readonly users?: string | undefined;
  readonly apns?: unknown | undefined;
  readonly fcm?: unknown | undefined;
  readonly web?: unknown | undefined;
  readonly perSecond: number;
};

export type PushRuleInput = {
  readonly channels: string;
  readonly events: readonly string[];
  readonly instance: string;
  readonly interest?: string | undefined;
  readonly users?: string | undefined;
  readonly apns?: unknown | undefined;
  readonly fcm?: unknown | undefined;
  readonly web?: unknown | undefined;
  readonly perSecond?: number | undefined;
};

export type QuietHours = {
  readonly from: string;
  readonly to: string;
};

export type QuietHoursInput = {
  readonly from: string;
  readonly to: string;
};

export type ReachedChannel = {
  readonly name: string;
  readonly receivers: number;
  readonly near: string | null;
};

export type RegisteredDevice = {
  readonly id: string;
  readonly platform: Platform;
  readonly kind: DeviceKind | null;
  readonly import: string | null;
  readonly userId: string | null;
  readonly registeredAt: string;
  readonly seenAt: string;
  readonly accepted: boolean;
  readonly acceptedAt: string | null;
  readonly pausedUntil: string | null;
  readonly language: string | null;
  readonly timeZone: string | null;
  readonly quietHours: { readonly from: string; readonly to: string } | "none" | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly client: string;
  readonly bundleId: string | null;
  readonly parent: string | null;
  readonly token: { readonly begins: string; readonly length: number };
  readonly pushService: string | null;
  readonly interests: readonly string[];
  readonly moreInterests: boolean;
  readonly cap: { readonly used: number; readonly notifications: number; readonly hours: number; readonly endsAt: string | null } | null;
};

export type Revocation = {
  readonly userId: string | null;
  readonly jti: string | null;
  readonly all: boolean;
  readonly issuedBefore: number | null;
  readonly revokedAtMs: number;
};

export type RevocationRequest = {
  readonly userId?: string | undefined;
  readonly jti?: string | undefined;
  readonly all?: true | undefined;
  readonly issuedBefore?: number | undefined;
};

export type Role = "viewer" | "support" | "operator" | "admin";

export type Server = {
  readonly name: string;
  readonly version: string;
  readonly command: string;
  readonly startedAtMs: number;
  readonly threads: number;
  readonly engine: "memory" | "redis";
  readonly store: "sqlite" | "postgresql";
  readonly listeners: { readonly channels: { readonly host: string; readonly port: number; readonly tls: boolean; readonly pathPrefix: string }; readonly push: { readonly host: string; readonly port: number; readonly tls: boolean; readonly publicUrl: string | null }; readonly admin: Listener };
  readonly payloads: "show" | "hide";
};

export type ServerActivity = {
  readonly name: string;
  readonly connections: number;
  readonly apps: readonly ({ readonly id: string; readonly connections: number })[];
};

export type Session = {
  readonly user: string | null;
  readonly role: Role;
  readonly apps: "*" | readonly string[];
  readonly instances: "*" | readonly string[];
  readonly payloads: boolean;
  readonly how: "password" | "proxy";
};

export type SettingChange = {
  readonly setting: string;
  readonly before?: unknown | undefined;
  readonly after?: unknown | undefined;
};

export type Source = {
  readonly source: number;
  readonly url: string;
  readonly schema: string;
  readonly app: string;
  readonly instance: string | null;
  readonly follower: string | null;
  readonly lagSeconds: number | null;
  readonly waiting: number | null;
  readonly failed: number | null;
  readonly lastFailure: string | null;
  readonly states: readonly ({ readonly server: string; readonly state: "following" | "waiting" | "away" | "stopped"; readonly why: string })[];
};

export type StoredEvent = {
  readonly id: string;
  readonly name: string;
  readonly data: string | null;
  readonly bytes: number;
  readonly atMs: number;
  readonly exceptSocketId: string | null;
};

export type Timeline = {
  readonly publish: string;
  readonly device: string;
  readonly platform: Platform;
  readonly events: readonly TimelineEntry[];
};

export type TimelineEntry = {
  readonly at: string | null;
  readonly what: "registered" | "published" | "scheduled" | "not-in-audience" | "waiting" | "live-reached" | "live-silent" | "live-absent" | "live-skipped" | "gateway-paused" | "device-paused" | "accepted" | "retry" | "failed" | "not-sent" | "expired" | "pruned" | "removed" | "cancelled" | "delivered" | "opened";
  readonly detail: string;
  readonly advice: string | null;
};

export type UnreachedDevice = {
  readonly id: string | null;
  readonly platform: Platform | null;
  readonly userId: string | null;
  readonly state: "retrying" | "failed" | "expired" | "pruned" | "cancelled";
  readonly attempts: number;
  readonly changedAt: string;
  readonly nextAttemptAt: string | null;
  readonly reason: string;
  readonly why: string;
  readonly advice: string | null;
};

export type Usage = {
  readonly day: string;
  readonly hour?: number | undefined;
  readonly messages: number;
  readonly clientMessages: number;
  readonly connections?: { readonly most: number; readonly fewest: number; readonly average: number } | null | undefined;
};

export type UsedKey = {
  readonly key: string;
  readonly lastUsedAtMs?: number | undefined;
  readonly lastRequestAtMs?: number | undefined;
  readonly lastSignatureAtMs?: number | undefined;
  readonly lastConnectionAtMs?: number | undefined;
  readonly connections: number;
};

export type UsedSecretKey = {
  readonly key: string;
  readonly lastUsedAtMs?: number | undefined;
  readonly lastRequestAtMs?: number | undefined;
  readonly lastSignatureAtMs?: number | undefined;
};

export type User = {
  readonly user: string;
  readonly app: { readonly id: string; readonly online: boolean | null; readonly sinceMs: number | null; readonly lastSeenMs: number | null; readonly servers: readonly AskedServer[]; readonly connections: readonly UserConnection[]; readonly moreConnections: boolean } | null;
  readonly push: { readonly id: string; readonly devices: readonly Device[]; readonly moreDevices: boolean; readonly publishes: readonly DevicePublish[]; readonly looked: number } | null;
};

export type UserConnection = {
  readonly socketId: string;
  readonly user: string | null;
  readonly address: string | null;
  readonly transport: "websocket" | "http" | "sse";
  readonly client: ClientLibrary | null;
  readonly openedAtMs: number;
  readonly heardAtMs: number;
  readonly waitingBytes: number;
  readonly channels: number;
  readonly server: string;
  readonly channelNames: readonly string[];
};

export type VapidKeys = {
  readonly publicKey: string;
  readonly privateKey?: string | undefined;
  readonly subject: string;
};

export type VapidKeysInput = {
  readonly publicKey?: string | undefined;
  readonly privateKey?: string | undefined;
  readonly privateKeyFile?: string | undefined;
  readonly subject?: string | undefined;
};

export type WebSettings = {
  readonly vapid: VapidKeys;
  readonly allowedHosts: readonly string[];
  readonly allowPrivateAddresses: boolean;
  readonly caFile: string | null;
  readonly declarative: boolean;
};

export type WebSettingsInput = {
  readonly vapid?: VapidKeysInput | undefined;
  readonly allowedHosts?: readonly string[] | undefined;
  readonly allowPrivateAddresses?: boolean | undefined;
  readonly caFile?: string | null | undefined;
  readonly declarative?: boolean | undefined;
};

export type Webhook = {
  readonly id: string;
  readonly kind: WebhookKind;
  readonly app: string | null;
  readonly instance: string | null;
  readonly state: WebhookState;
  readonly reason: string;
  readonly url: string;
  readonly events: string;
  readonly attempts: number;
  readonly bodyBytes: number;
  readonly createdAt: string;
  readonly nextAttemptAt: string | null;
  readonly finishedAt: string | null;
};

export type WebhookAttempt = {
  readonly number: number;
  readonly at: string;
  readonly durationMs: number;
  readonly outcome: WebhookOutcome;
  readonly status: number | null;
  readonly answer: string | null;
};

export type WebhookDetails = {
  readonly id: string;
  readonly kind: WebhookKind;
  readonly app: string | null;
  readonly instance: string | null;
  readonly state: WebhookState;
  readonly reason: string;
  readonly url: string;
  readonly events: string;
  readonly attempts: number;
  readonly bodyBytes: number;
  readonly createdAt: string;
  readonly nextAttemptAt: string | null;
  readonly finishedAt: string | null;
  readonly body: string | null;
  readonly attemptLog: readonly WebhookAttempt[];
};

export type WebhookEndpoint = {
  readonly kind: WebhookKind;
  readonly app: string | null;
  readonly instance: string | null;
  readonly url: string;
  readonly delivered: number;
  readonly failed: number;
  readonly lastAtMs: number;
  readonly lastOutcome: WebhookOutcome;
  readonly lastStatus: number | null;
  readonly lastDeliveredAtMs: number | null;
  readonly failingSinceMs: number | null;
  readonly durations: readonly ({ readonly upToMs: number | null; readonly attempts: number })[];
  readonly waiting: number;
  readonly oldestWaitingAtMs: number | null;
  readonly servers: readonly string[];
};

export type WebhookKind = "channels" | "push" | "publish";

export type WebhookOutcome = "delivered" | "refused" | "timeout" | "unreachable" | "not-allowed";

export type WebhookState = "waiting" | "delivered" | "failed";

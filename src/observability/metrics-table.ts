/** One metric. The name ends with the unit, as Prometheus recommends. */
export interface MetricRow {
  readonly name: string;
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /** The label of its series, with every value that it can have. No label is open-ended. */
  readonly label?: {
    readonly name: string;
    readonly values: readonly string[];
    /** Values that occur only on some servers: without a figure, they are not printed. */
    readonly more?: readonly string[];
  };
  /** The upper bounds of a histogram, the smallest first. A histogram has no other label. */
  readonly buckets?: readonly number[];
}

const MORE_LOOPS = Array.from({ length: 63 }, (_, index) => `realtime-${index + 1}` as const);
const REALTIME_LOOPS = { name: 'loop', values: ['realtime'], more: MORE_LOOPS } as const;
const LOOPS = { name: 'loop', values: ['realtime', 'background'], more: MORE_LOOPS } as const;
const SOURCES = {
  name: 'source',
  values: [],
  more: Array.from({ length: 64 }, (_, index) => `${index}` as const),
} as const;

/** Every metric, in the order of `/metrics` and `docs/reference/metrics.md`. */
export const metricRows = {
  connections: {
    name: 'fanfare_connections',
    kind: 'gauge',
    help: 'Open connections.',
  },
  connectionsOpened: {
    name: 'fanfare_connections_opened_total',
    kind: 'counter',
    help: 'Accepted connections.',
  },
  fallbackConnections: {
    name: 'fanfare_fallback_connections',
    kind: 'gauge',
    help: 'Open connections over HTTP requests instead of a WebSocket. `fanfare_connections` contains them.',
  },
  fallbackConnectionsOpened: {
    name: 'fanfare_fallback_connections_opened_total',
    kind: 'counter',
    help: 'Accepted connections over HTTP requests, by the transport that opened them.',
    label: { name: 'transport', values: ['xhr_streaming', 'xhr_polling'] },
  },
  readers: {
    name: 'fanfare_readers',
    kind: 'gauge',
    help: 'Open connections that read channels as server-sent events. `fanfare_connections` contains them.',
  },
  fallbackSessionsUnknown: {
    name: 'fanfare_fallback_unknown_sessions_total',
    kind: 'counter',
    help: 'Requests with messages for an unknown session over HTTP: from clients that have just left, or from somebody who guesses ids. Each counts as a new connection of its address.',
  },
  statisticsReports: {
    name: 'fanfare_statistics_reports_total',
    kind: 'counter',
    help: 'Reports of pusher-js about its own connections (`enableStats`), by how they were sent. They are answered and not read.',
    label: { name: 'transport', values: ['jsonp', 'xhr'] },
  },
  connectionsRefused: {
    name: 'fanfare_connections_refused_total',
    kind: 'counter',
    help: 'Refused connections, by close code; handshake: the request was invalid; address: the client address exceeded a rate; idle: closed because it had no request while open files were scarce.',
    label: {
      name: 'code',
      values: [
        '4001',
        '4003',
        '4004',
        '4005',
        '4006',
        '4007',
        '4008',
        '4009',
        '4100',
        '4200',
        'handshake',
        'address',
        'idle',
      ],
    },
  },
  slowConnectionsClosed: {
    name: 'fanfare_slow_connections_closed_total',
    kind: 'counter',
    help: 'Connections closed because they read too slowly.',
  },
  unreadAnswerBytes: {
    name: 'fanfare_unread_answer_bytes',
    kind: 'gauge',
    help: 'Bytes of long answers of the HTTP API, and of closed sessions over HTTP, until their clients have read them. Bytes that wait for open connections are not included.',
  },
  answersBrokenOff: {
    name: 'fanfare_answers_broken_off_total',
    kind: 'counter',
    help: 'Answers that were broken off because they were not read for 10 s, or because their app had the most when `channels.unfinishedBytes` was reached.',
  },
  floodingConnectionsClosed: {
    name: 'fanfare_flooding_connections_closed_total',
    kind: 'counter',
    help: 'Connections closed because they kept sending too many frames.',
  },
  channels: {
    name: 'fanfare_channels',
    kind: 'gauge',
    help: 'Occupied channels.',
  },
  messagesReceived: {
    name: 'fanfare_messages_received_total',
    kind: 'counter',
    help: 'Messages received from clients.',
  },
  receivedBytes: {
    name: 'fanfare_received_bytes_total',
    kind: 'counter',
    help: 'Bytes of messages received from clients.',
  },
  messagesDelivered: {
    name: 'fanfare_messages_delivered_total',
    kind: 'counter',
    help: 'Messages sent to subscribers, one for each subscriber of a channel.',
  },
  deliveredBytes: {
    name: 'fanfare_delivered_bytes_total',
    kind: 'counter',
    help: 'Bytes of messages sent to subscribers, before some of them are compressed.',
  },
  framesCompressed: {
    name: 'fanfare_frames_compressed_total',
    kind: 'counter',
    help: 'Messages of at least `compressAboveBytes` to WebSockets, one for each subscriber. `compressed`: for clients that offered it; `over-budget`: sent as they are, because the thread has spent a quarter of its time on compressing.',
    label: { name: 'result', values: ['compressed', 'over-budget'] },
  },
  eventsPublished: {
    name: 'fanfare_events_published_total',
    kind: 'counter',
    help: 'Events triggered by backends, one for each channel.',
  },
  requests: {
    name: 'fanfare_api_requests_total',
    kind: 'counter',
    help: 'Requests to the HTTP API of Channels, by status.',
    label: {
      name: 'status',
      values: [
        '200',
        '202',
        '400',
        '401',
        '403',
        '404',
        '405',
        '408',
        '409',
        '413',
        '415',
        '426',
        '429',
        '500',
        '503',
      ],
    },
  },
  clientProblems: {
    name: 'fanfare_client_problems_total',
    kind: 'counter',
    help: '`pusher:error` messages sent on open connections, by problem.',
    label: {
      name: 'problem',
      values: [
        'malformed-message',
        'unsupported-event',
        'existing-subscription',
        'no-subscription',
        'subscription-unauthorised',
        'subscription-limit',
        'subscription-rate',
        'frame-rate',
        'client-events-off',
        'client-event-not-subscribed',
        'client-event-wrong-channel',
        'client-event-invalid',
        'client-event-rate',
        'client-event-unavailable',
        'client-event-not-granted',
        'not-granted',
        'token-invalid',
        'signin-invalid',
        'connections-per-user',
        'watchlist-limit',
      ],
    },
  },
  appends: {
    name: 'fanfare_appends_total',
    kind: 'counter',
    help: 'Pieces of growing values that backends have sent, by result.',
    label: { name: 'result', values: ['sent', 'repeated', 'refused'] },
  },
  tokens: {
    name: 'fanfare_tokens_total',
    kind: 'counter',
    help: 'Tokens of clients that were verified, by result.',
    label: {
      name: 'result',
      values: [
        'accepted',
        'malformed',
        'key',
        'signature',
        'expired',
        'early',
        'issuer',
        'audience',
        'claim',
        'revoked',
      ],
    },
  },
  waitingSubscriptions: {
    name: 'fanfare_waiting_subscriptions',
    kind: 'gauge',
    help: 'Subscriptions without authorisation that wait for a sign-in of their connection.',
  },
  waitingTokens: {
    name: 'fanfare_waiting_tokens',
    kind: 'gauge',
    help: 'Tokens of clients that wait to be verified, because many were refused lately.',
  },
  grantsEnded: {
    name: 'fanfare_grants_ended_total',
    kind: 'counter',
    help: 'Connections that were closed because a grant ended, by why.',
    label: { name: 'why', values: ['expired', 'revoked'] },
  },
  keySetFetches: {
    name: 'fanfare_key_set_fetches_total',
    kind: 'counter',
    help: 'Fetches of key sets of issuers of tokens, by result.',
    label: { name: 'result', values: ['fetched', 'failed'] },
  },
  pushRequests: {
    name: 'fanfare_push_requests_total',
    kind: 'counter',
    help: 'Requests to the push listener, by status.',
    label: {
      name: 'status',
      values: [
        '200',
        '204',
        '400',
        '401',
        '402',
        '403',
        '404',
        '405',
        '408',
        '422',
        '429',
        '431',
        '500',
        '502',
        '503',
      ],
    },
  },
  adminRequestsRefused: {
    name: 'fanfare_admin_requests_refused_total',
    kind: 'counter',
    help: 'Requests refused by the admin listener before routing, by reason. Look into any increase of wrong passwords.',
    label: {
      name: 'why',
      values: [
        'password-missing',
        'password-wrong',
        'session-over',
        'too-many-wrong-passwords',
        'other-site',
        'no-role',
        'too-many-requests',
        'too-many-connections',
        'unread',
        'too-slow',
        'not-http',
      ],
    },
  },
  watchers: {
    name: 'fanfare_watchers',
    kind: 'gauge',
    help: 'Open live streams of apps and push instances.',
  },
  streamEventsSkipped: {
    name: 'fanfare_stream_events_skipped_total',
    kind: 'counter',
    help: 'Events that a live stream left out because its reader was too slow.',
  },
  quotaWarnings: {
    name: 'fanfare_quota_warnings_total',
    kind: 'counter',
    help: 'How often an app had 5 %, 1 % or nothing of its daily quota left.',
    label: { name: 'left', values: ['5%', '1%', '0%'] },
  },
  webhookEventsDropped: {
    name: 'fanfare_webhook_events_dropped_total',
    kind: 'counter',
    help: 'Dropped webhook events, by what was full: the queue to the background loop, its memory, the outbox, or the share of the endpoint.',
    label: { name: 'full', values: ['loop', 'memory', 'outbox', 'endpoint'] },
  },
  webhookAttempts: {
    name: 'fanfare_webhook_attempts_total',
    kind: 'counter',
    help: 'Requests to webhook endpoints, by outcome. Undelivered requests are retried.',
    label: {
      name: 'outcome',
      values: ['delivered', 'refused', 'timeout', 'unreachable', 'not-allowed'],
    },
  },
  nameLookups: {
    name: 'fanfare_name_lookups',
    kind: 'gauge',
    help: 'Name lookups in progress, for webhooks and gateways.',
  },
  nameLookupsRefused: {
    name: 'fanfare_name_lookups_refused_total',
    kind: 'counter',
    help: 'Name lookups refused because too many were in progress. The log names the owner.',
  },
  outboxRequests: {
    name: 'fanfare_outbox_requests',
    kind: 'gauge',
    help: 'Webhook requests waiting in the outbox.',
  },
  outboxBytes: {
    name: 'fanfare_outbox_bytes',
    kind: 'gauge',
    help: 'Bytes of webhook requests waiting in the outbox.',
  },
  outboxOldestAge: {
    name: 'fanfare_outbox_oldest_age_seconds',
    kind: 'gauge',
    help: 'Age of the oldest webhook request in the outbox; 0 if it is empty.',
  },
  storeChangesRefused: {
    name: 'fanfare_store_changes_refused_total',
    kind: 'counter',
    help: 'Store changes refused because too many were waiting, by owner: an instance, the admin API, apps that revoke grants, or the server itself.',
    label: { name: 'owner', values: ['instance', 'admin', 'revocations', 'server'] },
  },
  pushDeliveries: {
    name: 'fanfare_push_deliveries_total',
    kind: 'counter',
    help: 'Attempts to send a notification to a device, by outcome; retry: another attempt follows.',
    label: { name: 'outcome', values: ['accepted', 'retry', 'failed', 'pruned', 'expired'] },
  },
  pushLeftOut: {
    name: 'fanfare_push_left_out_total',
    kind: 'counter',
    help: 'Devices that did not get a notification by a rule of this server, by reason. `gave-way`: their publish waited only for failures, and newer ones needed its room. `retries-ended`: it failed for `limits.retryHours`. `too-many-for-device`: more than 100 publishes waited for the device. `quiet-hours`: its time to live ended before its quiet hours did. `over-cap`: the device had as many as the instance allows.',
    label: {
      name: 'reason',
      values: ['gave-way', 'retries-ended', 'too-many-for-device', 'quiet-hours', 'over-cap'],
    },
  },
  pushPausedDevices: {
    name: 'fanfare_push_paused_devices',
    kind: 'gauge',
    help: 'Devices that fail while others are accepted, as this server knows. Each has a pause of its own, and is then tried by one publish.',
  },
  pushPages: {
    name: 'fanfare_push_pages',
    kind: 'gauge',
    help: 'Pages of up to 1,000 devices waiting for delivery, by all servers of the store.',
  },
  pushRetries: {
    name: 'fanfare_push_retries',
    kind: 'gauge',
    help: 'Devices waiting for another attempt, by all servers of the store.',
  },
  pushLag: {
    name: 'fanfare_push_lag_seconds',
    kind: 'gauge',
    help: 'How long the oldest waiting page or device has been due; 0 if none is.',
  },
  liveUsers: {
    name: 'fanfare_live_users_total',
    kind: 'counter',
    help: 'Users of publishes with `live`, by what became of the event in the app. Users of a publish that was `skipped` were not asked.',
    label: { name: 'result', values: ['reached', 'silent', 'absent', 'skipped'] },
  },
  liveAnswers: {
    name: 'fanfare_live_answer_seconds',
    kind: 'histogram',
    help: 'Time from the event of a publish with `live` until the first connection of a user answered.',
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  },
  ruleEvents: {
    name: 'fanfare_push_rule_events_total',
    kind: 'counter',
    help: 'Events that match a push rule, by result. `unfit`: their data lacks what the rule needs; `refused`: the push instance refused the publish.',
    label: {
      name: 'result',
      values: ['published', 'over-rate', 'too-many', 'unfit', 'refused', 'failed'],
    },
  },
  sourceUp: {
    name: 'fanfare_source_up',
    kind: 'gauge',
    help: '1 if this server can use the database of a source, whether or not it follows it; else 0. The label is its place in the setting `sources`.',
    label: SOURCES,
  },
  sourceLag: {
    name: 'fanfare_source_lag_seconds',
    kind: 'gauge',
    help: 'Age of the oldest row that waits in the outbox of a source, by the clock of its database, as read in the last 5 s; 0 if none waits.',
    label: SOURCES,
  },
  sourceRows: {
    name: 'fanfare_source_rows_total',
    kind: 'counter',
    help: 'Rows of the outboxes of all sources that this server has sent as events and as publishes, or marked because they can never be sent.',
    label: { name: 'result', values: ['event', 'publish', 'failed'] },
  },
  pushPauses: {
    name: 'fanfare_push_pauses',
    kind: 'gauge',
    help: 'Open circuits: gateways or push services that this server has paused because they fail or refuse the credential.',
  },
  engineUp: {
    name: 'fanfare_engine_up',
    kind: 'gauge',
    help: '1 if a realtime loop can use all Redis servers, or has none; else 0.',
    label: REALTIME_LOOPS,
  },
  engineAway: {
    name: 'fanfare_engine_away_seconds',
    kind: 'gauge',
    help: 'How long a realtime loop has not been able to use a Redis server; 0 if it can use all.',
    label: REALTIME_LOOPS,
  },
  engineMasters: {
    name: 'fanfare_engine_masters',
    kind: 'gauge',
    help: 'Redis servers that hold the state: of a Redis Cluster, the masters of the slots that are used. 0 without Redis.',
    label: REALTIME_LOOPS,
  },
  engineOutages: {
    name: 'fanfare_engine_outages_total',
    kind: 'counter',
    help: 'How often a realtime loop could not use a Redis server any more.',
  },
  engineAnswers: {
    name: 'fanfare_engine_answer_seconds',
    kind: 'histogram',
    help: 'Time until Redis, or another realtime loop, answered. Of events that another loop need not answer, each 64th is measured.',
    buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 2.5],
  },
  engineBatchEvents: {
    name: 'fanfare_engine_batch_events',
    kind: 'histogram',
    help: 'Events that were published by one call to Redis. Calls have several while Redis, or the way to it, is busy.',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256],
  },
  engineWaiting: {
    name: 'fanfare_engine_waiting_commands',
    kind: 'gauge',
    help: 'Commands that Redis has not answered yet and events that wait for a call, or questions that other realtime loops have not answered yet.',
  },
  enginePublishesRefused: {
    name: 'fanfare_engine_publishes_refused_total',
    kind: 'counter',
    help: 'Events of backends and clients that were refused because Redis did not answer.',
  },
  engineWaitsGivenUp: {
    name: 'fanfare_engine_waits_given_up_total',
    kind: 'counter',
    help: 'Subscriptions, sign-ins and watch lists that Redis did not answer within 30 to 40 s. Their connections were closed with 4100.',
  },
  engineConnectionsLost: {
    name: 'fanfare_engine_connections_lost_total',
    kind: 'counter',
    help: 'Connections to Redis that ended. Redis ends one for subscriptions that reads too slowly.',
    label: { name: 'kind', values: ['commands', 'subscriptions'] },
  },
  engineRedirects: {
    name: 'fanfare_engine_redirects_total',
    kind: 'counter',
    help: 'Commands that a server of a Redis Cluster has refused and not run: the slot is at another master (`moved`), is being moved (`moving`), or the server is not ready (`down`). They were sent again.',
    label: { name: 'kind', values: ['moved', 'moving', 'down'] },
  },
  engineProbesUnanswered: {
    name: 'fanfare_engine_probes_unanswered_total',
    kind: 'counter',
    help: 'Connections for subscriptions that were replaced because nothing arrived on them any more.',
  },
  engineFollowedAgain: {
    name: 'fanfare_engine_followed_again_total',
    kind: 'counter',
    help: 'Channels and users that were followed again on a new connection to Redis.',
  },
  historyEvents: {
    name: 'fanfare_history_events',
    kind: 'gauge',
    help: 'Events in the histories of channels.',
  },
  historyBytes: {
    name: 'fanfare_history_bytes',
    kind: 'gauge',
    help: 'Bytes of all events in histories, counted as for the setting `history` of apps.',
  },
  historyForgotten: {
    name: 'fanfare_history_forgotten_total',
    kind: 'counter',
    help: 'Events that histories forgot, by the limit: seconds, events or bytes of the rule, `limits.historyBytes` of the app, `channels.historyBytes` of the server.',
    label: { name: 'why', values: ['seconds', 'events', 'bytes', 'app', 'server'] },
  },
  resumes: {
    name: 'fanfare_resumes_total',
    kind: 'counter',
    help: 'Subscriptions of clients with a position in the history, by result. `resumed`: they got everything that they missed; otherwise the reason why not.',
    label: { name: 'result', values: ['resumed', 'forgotten', 'too-much', 'unavailable'] },
  },
  eventsReplayed: {
    name: 'fanfare_events_replayed_total',
    kind: 'counter',
    help: 'Events of histories that were sent to new subscribers.',
  },
  engineGaps: {
    name: 'fanfare_engine_gaps_total',
    kind: 'counter',
    help: 'How often messages of Redis were missed: after a lost connection, or in one channel. They are read again.',
  },
  messagesUnreadable: {
    name: 'fanfare_unreadable_messages_total',
    kind: 'counter',
    help: 'Messages that were dropped because they could not be read or handled, by where they came from: Redis about a channel or user (`topic`), a loop of another server, another server, another thread. Look into any increase, except while servers of two releases run.',
    label: { name: 'from', values: ['topic', 'loop', 'server', 'thread'] },
  },
  engineLosses: {
    name: 'fanfare_engine_losses_total',
    kind: 'counter',
    help: 'How often messages were missed for so long that Redis no longer had them all. Clients may have missed events.',
  },
  engineLeasesLost: {
    name: 'fanfare_engine_leases_lost_total',
    kind: 'counter',
    help: 'Leases of this server that others ended, because they took it for dead. A realtime loop has 64.',
  },
  engineLeasesSwept: {
    name: 'fanfare_engine_leases_swept_total',
    kind: 'counter',
    help: 'Leases of dead or stopped servers that this one ended. A realtime loop has 64.',
  },
  engineDataLost: {
    name: 'fanfare_engine_data_lost_total',
    kind: 'counter',
    help: 'Partitions whose state this server sent to Redis again, because Redis had lost data or may have lost some at a restart or failover. There are 64.',
  },
  certificateEnd: {
    name: 'fanfare_certificate_end_time_seconds',
    kind: 'gauge',
    help: 'When the certificate of the public listeners expires, in seconds since 1970. Absent while there is none.',
  },
  certificateOrders: {
    name: 'fanfare_certificate_orders_total',
    kind: 'counter',
    help: 'Orders of a certificate by this server (`tls.acme`).',
    label: { name: 'outcome', values: ['succeeded', 'failed'] },
  },
  loopDelay: {
    name: 'fanfare_event_loop_delay_seconds',
    kind: 'gauge',
    help: 'The longest delay of an event loop in the last 10 s.',
    label: LOOPS,
  },
  memory: {
    name: 'fanfare_resident_memory_bytes',
    kind: 'gauge',
    help: 'Resident memory of the process.',
  },
  memoryLimit: {
    name: 'fanfare_memory_limit_bytes',
    kind: 'gauge',
    help: 'The memory that the server may use: `memoryBytes`, the limit of its container, or the memory of the machine.',
  },
  memoryShare: {
    name: 'fanfare_memory_share_bytes',
    kind: 'gauge',
    help: 'Memory that a share takes if it is full. See `docs/reference/limits.md`.',
    label: {
      name: 'share',
      values: [
        'connections',
        'subscriptions',
        'sockets',
        'unread',
        'histories',
        'cached-events',
        'remembered',
        'bodies',
        'frames',
        'webhooks',
        'push-connections',
        'push-bodies',
        'push-devices',
        'admin-answers',
      ],
    },
  },
  memoryShareUsed: {
    name: 'fanfare_memory_share_used_bytes',
    kind: 'gauge',
    help: 'Memory that a share takes now, by what its contents cost on average; only shares that are counted at no cost.',
    label: {
      name: 'share',
      values: ['connections', 'subscriptions', 'sockets', 'unread', 'histories', 'bodies'],
    },
  },
  logLinesDropped: {
    name: 'fanfare_log_lines_dropped_total',
    kind: 'counter',
    help: 'Log lines dropped because they were not read fast enough.',
    label: LOOPS,
  },
  startTime: {
    name: 'fanfare_start_time_seconds',
    kind: 'gauge',
    help: 'Start time of the server in seconds since 1970.',
  },
} as const satisfies Record<string, MetricRow>;

export type MetricId = keyof typeof metricRows;

/** The metrics whose series have a label. */
export type LabelledId = {
  [Id in MetricId]: (typeof metricRows)[Id] extends { readonly label: object } ? Id : never;
}[MetricId];

/** The labels of a metric that are printed. */
export type LabelOf<Id extends LabelledId> =
  | (typeof metricRows)[Id]['label']['values'][number]
  | ((typeof metricRows)[Id]['label'] extends {
      readonly more: readonly (infer More extends string)[];
    }
      ? More
      : never);

/** The metrics that are histograms. */
export type HistogramId = {
  [Id in MetricId]: (typeof metricRows)[Id]['kind'] extends 'histogram' ? Id : never;
}[MetricId];

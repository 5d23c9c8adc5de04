/** One thing that is counted or measured. Units stand in the name, as Prometheus has it. */
export interface MetricRow {
  readonly name: string;
  readonly kind: 'counter' | 'gauge';
  readonly help: string;
  /** The label that tells its series apart, and every value it can have: none is open-ended. */
  readonly label?: { readonly name: string; readonly values: readonly string[] };
}

const LOOPS = ['realtime', 'background'] as const;

/** Every metric, in the order in which `/metrics` and `docs/metrics.md` show them. */
export const metricRows = {
  connections: {
    name: 'fanfare_connections',
    kind: 'gauge',
    help: 'Connections that are open.',
  },
  connectionsOpened: {
    name: 'fanfare_connections_opened_total',
    kind: 'counter',
    help: 'Connections that were accepted.',
  },
  connectionsRefused: {
    name: 'fanfare_connections_refused_total',
    kind: 'counter',
    help: 'Connections that were refused, by the code they were closed with; handshake: it was not valid; address: it connects or sends too often.',
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
        '4100',
        'handshake',
        'address',
      ],
    },
  },
  slowConnectionsClosed: {
    name: 'fanfare_slow_connections_closed_total',
    kind: 'counter',
    help: 'Connections that were closed because they read too slowly.',
  },
  floodingConnectionsClosed: {
    name: 'fanfare_flooding_connections_closed_total',
    kind: 'counter',
    help: 'Connections that were closed because they went on sending more frames than they may.',
  },
  channels: {
    name: 'fanfare_channels',
    kind: 'gauge',
    help: 'Channels that are occupied.',
  },
  messagesReceived: {
    name: 'fanfare_messages_received_total',
    kind: 'counter',
    help: 'Messages that clients sent.',
  },
  receivedBytes: {
    name: 'fanfare_received_bytes_total',
    kind: 'counter',
    help: 'Bytes of the messages that clients sent.',
  },
  messagesDelivered: {
    name: 'fanfare_messages_delivered_total',
    kind: 'counter',
    help: 'Messages that were sent to subscribers: one for each subscriber of a channel.',
  },
  deliveredBytes: {
    name: 'fanfare_delivered_bytes_total',
    kind: 'counter',
    help: 'Bytes of the messages that were sent to subscribers.',
  },
  eventsPublished: {
    name: 'fanfare_events_published_total',
    kind: 'counter',
    help: 'Events that backends triggered: one for each channel.',
  },
  requests: {
    name: 'fanfare_api_requests_total',
    kind: 'counter',
    help: 'Requests to the HTTP API, by the status of the answer.',
    label: {
      name: 'status',
      values: ['200', '202', '400', '401', '403', '404', '405', '413', '426', '429', '500'],
    },
  },
  clientProblems: {
    name: 'fanfare_client_problems_total',
    kind: 'counter',
    help: 'What clients were told of in a pusher:error on an open connection, by problem.',
    label: {
      name: 'problem',
      values: [
        'malformed-message',
        'unsupported-event',
        'existing-subscription',
        'no-subscription',
        'subscription-unauthorised',
        'subscription-limit',
        'client-events-off',
        'client-event-not-subscribed',
        'client-event-wrong-channel',
        'client-event-invalid',
        'client-event-rate',
        'signin-invalid',
        'watchlist-limit',
      ],
    },
  },
  pushRequests: {
    name: 'fanfare_push_requests_total',
    kind: 'counter',
    help: 'Requests to the push listener, by the status of the answer.',
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
        '503',
      ],
    },
  },
  adminRequestsRefused: {
    name: 'fanfare_admin_requests_refused_total',
    kind: 'counter',
    help: 'Requests to the admin listener that were refused before what they ask for was looked at, by why; any increase of wrong passwords is worth a look.',
    label: {
      name: 'why',
      values: [
        'password-missing',
        'password-wrong',
        'too-many-wrong-passwords',
        'other-site',
        'too-many-requests',
        'too-many-connections',
        'too-slow',
        'not-http',
      ],
    },
  },
  quotaWarnings: {
    name: 'fanfare_quota_warnings_total',
    kind: 'counter',
    help: 'How often an app came within 5 % or 1 % of its daily quota, or reached it.',
    label: { name: 'left', values: ['5%', '1%', '0%'] },
  },
  webhookEventsDropped: {
    name: 'fanfare_webhook_events_dropped_total',
    kind: 'counter',
    help: 'Webhook events that were dropped, by what was full: the way to the background loop, its memory, the outbox, or the share of the endpoint.',
    label: { name: 'full', values: ['loop', 'memory', 'outbox', 'endpoint'] },
  },
  webhookAttempts: {
    name: 'fanfare_webhook_attempts_total',
    kind: 'counter',
    help: 'Requests to webhook endpoints, by what became of them. What is not delivered is tried again for some minutes.',
    label: {
      name: 'outcome',
      values: ['delivered', 'refused', 'timeout', 'unreachable', 'not-allowed'],
    },
  },
  nameLookups: {
    name: 'fanfare_name_lookups',
    kind: 'gauge',
    help: 'Names of webhooks and gateways that are being looked up.',
  },
  nameLookupsRefused: {
    name: 'fanfare_name_lookups_refused_total',
    kind: 'counter',
    help: 'Name lookups that were refused or given up because too many were under way; the log says whose.',
  },
  outboxRequests: {
    name: 'fanfare_outbox_requests',
    kind: 'gauge',
    help: 'Webhook requests that wait in the outbox.',
  },
  outboxBytes: {
    name: 'fanfare_outbox_bytes',
    kind: 'gauge',
    help: 'Bytes of the webhook requests that wait in the outbox.',
  },
  outboxOldestAge: {
    name: 'fanfare_outbox_oldest_age_seconds',
    kind: 'gauge',
    help: 'Age of the oldest webhook request that waits in the outbox; 0 when it is empty.',
  },
  storeChangesRefused: {
    name: 'fanfare_store_changes_refused_total',
    kind: 'counter',
    help: 'Changes of the store that were refused because too many waited, by whose they were: of an instance, of the admin API, or the server’s own.',
    label: { name: 'owner', values: ['instance', 'admin', 'server'] },
  },
  pushDeliveries: {
    name: 'fanfare_push_deliveries_total',
    kind: 'counter',
    help: 'Notifications for devices, by what became of an attempt; retry: it is tried again later.',
    label: { name: 'outcome', values: ['accepted', 'retry', 'failed', 'pruned', 'expired'] },
  },
  pushPages: {
    name: 'fanfare_push_pages',
    kind: 'gauge',
    help: 'Pages of up to 1,000 devices that wait to be delivered, by all servers of the store.',
  },
  pushRetries: {
    name: 'fanfare_push_retries',
    kind: 'gauge',
    help: 'Devices that wait for another attempt, by all servers of the store.',
  },
  pushLag: {
    name: 'fanfare_push_lag_seconds',
    kind: 'gauge',
    help: 'For how long the oldest page or device that waits has been due; 0 where none is.',
  },
  pushPauses: {
    name: 'fanfare_push_pauses',
    kind: 'gauge',
    help: 'Ways to devices that this server does not use for the time being: their gateway is in trouble, or does not accept the credential.',
  },
  loopDelay: {
    name: 'fanfare_event_loop_delay_seconds',
    kind: 'gauge',
    help: 'The longest that an event loop was late in the last ten seconds.',
    label: { name: 'loop', values: LOOPS },
  },
  memory: {
    name: 'fanfare_resident_memory_bytes',
    kind: 'gauge',
    help: 'Memory of the process.',
  },
  logLinesDropped: {
    name: 'fanfare_log_lines_dropped_total',
    kind: 'counter',
    help: 'Lines of the log that were dropped because they were not read fast enough.',
    label: { name: 'loop', values: LOOPS },
  },
  startTime: {
    name: 'fanfare_start_time_seconds',
    kind: 'gauge',
    help: 'When the server started. Seconds since 1970.',
  },
} as const satisfies Record<string, MetricRow>;

export type MetricId = keyof typeof metricRows;

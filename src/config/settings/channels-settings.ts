import { z } from 'zod';
import { isOriginEntry, ORIGIN_ENTRY_RULE } from '../../runtime/allowed-origins.ts';
import { readTokenKey, TOKEN_KEY_RULE } from '../../runtime/tokens/token-keys.ts';
import { LEEWAY_SECONDS_MAX } from '../../runtime/tokens/token-times.ts';
import { quote } from '../file/problems.ts';
import { pushRules } from './push-rules.ts';
import {
  anyText,
  BYTES_MAX,
  BYTES_MIN,
  COUNT_MAX,
  healthChecks,
  httpIdleSeconds,
  httpUrl,
  limit,
  listenHost,
  numberOrNull,
  oneOrMore,
  onOff,
  pathPrefix,
  port,
  SECONDS_MAX,
  text,
  textThat,
  wholeNumber,
  wordOrNumber,
} from './setting-kinds.ts';

/** A bound that follows from the memory. */
const AUTO: 'auto' | number = 'auto';

const key = z.strictObject({
  key: text('The public half of the pair. Clients and backends send it.'),
  secret: text('The secret half of the pair. Backends sign with it.'),
});

export const SEND_BUFFER_BYTES = 1_048_576;

/** The limit of a value, if a quarter of what may wait for a connection is not less. */
const APPEND_BYTES = 262_144;

const limits = z.strictObject({
  connections: limit(0, 'Open connections of this app. More are refused with 4004'),
  connectionsPerUser: limit(
    0,
    'Connections that are signed in as one user, on all servers. Further sign-ins are refused, and their connections stay open',
  ),
  messagesPerDay: wholeNumber(
    { min: 0, max: Number.MAX_SAFE_INTEGER },
    0,
    'Messages of this app per UTC day. More are refused with 403; 0 = no limit.',
  ),
  eventDataBytes: wholeNumber(
    { min: 1, max: BYTES_MAX },
    10_240,
    'Bytes in the data of one event. Longer data is refused with 413.',
  ),
  channelsPerTrigger: wholeNumber(
    { min: 1, max: COUNT_MAX },
    100,
    'Channels in one trigger. More are refused with 400.',
  ),
  eventsPerBatch: wholeNumber(
    { min: 1, max: COUNT_MAX },
    10,
    'Events in one batch. More are refused with 400.',
  ),
  presenceMembers: limit(
    100,
    'Members of one presence channel. Further subscriptions are refused with 4100',
  ),
  clientEventsPerSecond: limit(
    10,
    'Client events per second of one connection. More are dropped and answered with 4301',
  ),
  channelsPerConnection: limit(1000, 'Subscriptions of one connection. More are refused'),
  subscriptionsPerSecond: limit(
    100,
    'Subscriptions and sign-ins per second that one connection may attempt. The burst is ten times this rate, and at least `channelsPerConnection`. More are refused with 4301',
  ),
  memberChangesPerSecond: limit(
    10,
    'Member events per second about one user in a presence channel. Above that, members learn later that the user has left, and not at all if the user has returned by then',
  ),
  triggersPerSecond: limit(
    0,
    'Events per second that backends may trigger. Each 10 KiB of a body that is neither data nor channel names counts as one more. More are refused with 429',
  ),
  queriesPerSecond: limit(
    10_000,
    'GET requests and calls of `terminate_connections` and `users/status` per second. An answer counts one more per 10 KiB, a listing per 10 channels that it lists and per 50 that it looks through, a history per 10 events, a page of users per 100, `users/status` per 50 users. More are refused with 429',
  ),
  historyBytes: wholeNumber(
    { min: 0, max: Number.MAX_SAFE_INTEGER },
    33_554_432,
    'Bytes of all kept events of this app, counted as for `history`. Beyond that, its oldest events are forgotten; each of several realtime threads keeps its share; 0 = no limit but `channels.historyBytes`.',
  ),
  appendBytes: wholeNumber(
    { min: 0, max: 16_777_216 },
    APPEND_BYTES,
    'Bytes of one value that grows by appends, as UTF-8. Longer ones are refused with 413, and a quarter of `channels.sendBufferBytes` is the limit in any case: a newcomer gets the value at once. 0 = no appends.',
  ),
});

const historyRule = z.strictObject({
  channels: textThat(
    /^(?=.)#?[\w\-=@,.;]{0,200}\*?$/,
    'be the name of a channel, or the beginning of names and *',
    'The name of a channel, or the beginning of names and `*`.',
  ),
  seconds: wholeNumber({ min: 1, max: 604_800 }, 120, 'Seconds for which events are kept.'),
  events: wholeNumber({ min: 1, max: 10_000 }, 100, 'Events that one channel keeps.'),
  bytes: wholeNumber(
    { min: 1, max: 67_108_864 },
    1_048_576,
    'Bytes that one channel keeps. An event counts its frame, twice if the frame has characters beyond ASCII, and 200 bytes.',
  ),
  replay: wholeNumber(
    { min: 0, max: 100 },
    0,
    'Events that a subscriber gets after its confirmation if it does not resume.',
  ),
});

/** What a rule keeps that names nothing but its channels. */
export const HISTORY_RULE_DEFAULTS = historyRule.parse({ channels: '*' });

const presenceRule = z.strictObject({
  channels: textThat(
    /^presence-[\w\-=@,.;]{0,191}\*?$/,
    'be the name of a presence channel, or the beginning of such names and *',
    'The name of a presence channel, or the beginning of such names and `*`.',
  ),
  members: numberOrNull(
    { min: 0, max: COUNT_MAX },
    'Members of one channel, in place of `limits.presenceMembers`; 0 = no limit.',
  ),
  shown: numberOrNull(
    { min: 0, max: 1000 },
    'Set: the channel is large. A newcomer is shown this many members, and the number of all; joins and leaves are sent as counts only. Holds from when the channel is next empty.',
  ),
  named: wholeNumber(
    { min: 0, max: 1000 },
    0,
    'Of a large channel: joins and leaves per second that are named to its subscribers, in the event `fanfare:members`.',
  ),
  graceSeconds: wholeNumber(
    { min: 0, max: 120 },
    0,
    'Seconds for which a member stays whose last connection has ended without `pusher:unsubscribe`: whoever is back by then was never gone, for clients and webhooks.',
  ),
});

/** A rule is searched for with each event. */
const HISTORY_RULES_MAX = 100;

/** A rule is searched for with each subscription to a presence channel, and its end. */
const PRESENCE_RULES_MAX = 100;

/** Each handshake of a page is compared with all of them. */
const ORIGINS_MAX = 100;

/** Each subscription without a signature is compared with all of them. */
const GRANTED_PATTERNS_MAX = 100;

/** Each token without a `kid` is tried with all that fit its algorithm. */
const PUBLIC_KEYS_MAX = 20;

const grantedChannel = textThat(
  /^(?=.{1,206}$)(?:private-|presence-)[\w\-=@,.;]{0,191}(?:\*|\{user\})?$/,
  'be the name of a private, encrypted or presence channel, or the beginning of such names and *; {user} may end it',
  '',
);

const grants = z
  .strictObject({
    channels: z
      .record(grantedChannel, z.array(z.enum(['subscribe', 'client-events'])))
      .refine((channels) => Object.keys(channels).length <= GRANTED_PATTERNS_MAX, {
        error: `must have at most ${GRANTED_PATTERNS_MAX} entries`,
      })
      .default({})
      .describe(
        'What every connection that is signed in may do, besides what its grants say: patterns and lists of `subscribe` and `client-events`. `{user}` at the end of a pattern stands for the id of the user.',
      ),
    leewaySeconds: wholeNumber(
      { min: 0, max: LEEWAY_SECONDS_MAX },
      30,
      'Seconds by which the clock of an issuer may differ. Connections are closed at random within this time after their grants have ended.',
    ),
    jwksUrl: httpUrl('')
      .refine((url) => !URL.parse(url)?.username && !URL.parse(url)?.password, {
        error: 'must have no user and no password: a key set is public',
      })
      .nullable()
      .default(null)
      .describe(
        'The https URL of the key set (JWKS, RFC 7517) of an issuer whose tokens are accepted, signed with RS256, ES256 or EdDSA. Needs `issuer` and `audience`. Private addresses need `webhooks.allowPrivateAddresses`, and may be http.',
      ),
    publicKeys: z
      .array(
        z
          .string()
          .refine((pem) => readTokenKey(pem) !== undefined, { error: `must ${TOKEN_KEY_RULE}` }),
      )
      .max(PUBLIC_KEYS_MAX, { error: `must have at most ${PUBLIC_KEYS_MAX} entries` })
      .default([])
      .describe(
        'Public keys (PEM) of the issuer, in place of a key set or besides it. Need `issuer` and `audience`.',
      ),
    issuer: anyText('')
      .nullable()
      .default(null)
      .describe('The `iss` that tokens of the issuer must have.'),
    audience: anyText('')
      .nullable()
      .default(null)
      .describe(
        'The `aud` that tokens of the issuer must have. Tokens that are signed with a secret of the app may have it, besides the id or a key of the app.',
      ),
    channelsClaim: text('').default('channels').describe('The claim of a token with its channels.'),
    userClaim: text('').default('sub').describe('The claim of a token with the id of its user.'),
  })
  .superRefine(({ jwksUrl, publicKeys, issuer, audience }, { addIssue }) => {
    if (jwksUrl === null && publicKeys.length === 0) return;
    const because = jwksUrl === null ? 'publicKeys' : 'jwksUrl';
    for (const [name, value] of Object.entries({ issuer, audience })) {
      if (value !== null && value !== '') continue;
      addIssue({ code: 'custom', path: [name], message: `is required together with ${because}` });
    }
  });

const webhook = z.strictObject({
  url: httpUrl('The http or https URL that receives the events.'),
  events: oneOrMore(
    z.enum([
      'channel_occupied',
      'channel_vacated',
      'member_added',
      'member_removed',
      'client_event',
      'cache_miss',
      'subscription_count',
      'user_online',
      'user_offline',
    ]),
    'The types of events to send.',
  ),
  batching: onOff(true, 'Send events that happen close together in one request.'),
});

// People write 1 without quotes. The protocol uses text.
const appId = z
  .preprocess(
    (value) => (Number.isSafeInteger(value) ? String(value) : value),
    textThat(/^[\w-]{1,100}$/, 'be 1 to 100 of the characters A-Z a-z 0-9 _ -', ''),
  )
  .describe('The id in the paths of the HTTP API: 1 to 100 characters of A-Z a-z 0-9 _ -.');

export const appSettings = z
  .strictObject({
    id: appId,
    name: anyText('').default('').describe('A name for people.'),
    enabled: onOff(true, 'Serve this app. Clients of a disabled app get 4003, its backends 403.'),
    keys: oneOrMore(
      key.meta({ id: 'KeyPair' }),
      'Pairs of key and secret. Use several during a rotation; the first one signs webhooks.',
    ),
    clientEvents: onOff(false, 'Allow client events.'),
    subscriptionCounts: onOff(false, 'Send `subscription_count` events to subscribers.'),
    watchlists: onOff(false, 'Allow signed-in users to watch whether other users are online.'),
    offlineSeconds: wholeNumber(
      { min: 0, max: 300 },
      3,
      'Seconds until a user without connections counts as offline, for watchlists, webhooks and `users/status`.',
    ),
    authorizedConnectionsOnly: onOff(
      false,
      'Close connections that neither sign in nor join a private channel within `channels.authorizationTimeoutSeconds`.',
    ),
    allowedOrigins: z
      .array(
        z.string().refine(isOriginEntry, {
          error: ({ input }) => `must ${ORIGIN_ENTRY_RULE}, got ${quote(String(input))}`,
        }),
      )
      .max(ORIGINS_MAX, { error: `must have at most ${ORIGINS_MAX} entries` })
      .default([])
      .describe(
        'The origins whose pages may connect, such as `https://shop.example.com`, `https://*.example.com` or `http://localhost:*`; hosts without a scheme, `null` and `*` as well. Empty: all. Pages of others are closed with 4009; clients that send no `Origin` are not pages.',
      ),
    compressAboveBytes: wholeNumber(
      { min: 0, max: BYTES_MAX },
      0,
      'Events with at least this many bytes are compressed for WebSocket clients that offer it, as browsers do, with up to a quarter of the time of each realtime thread. 0 = none; 1024 is a good value. See [compression](../operate/compression.md).',
    ),
    grants: grants
      .meta({ id: 'AppGrants' })
      .optional()
      .describe(
        'Accept grants: one sign-in, or a token, for many private and presence channels. Left out: each channel needs a signature. See [authorisation](../use/authorization.md).',
      ),
    limits: limits.meta({ id: 'AppLimits' }).prefault({}),
    history: z
      .array(historyRule.meta({ id: 'HistoryRule' }))
      .max(HISTORY_RULES_MAX, { error: `must have at most ${HISTORY_RULES_MAX} entries` })
      .default([])
      .describe(
        'Channels that keep their last events, so that clients can resume after a reconnect. The first rule that fits a channel counts.',
      ),
    presence: z
      .array(presenceRule.meta({ id: 'PresenceRule' }))
      .max(PRESENCE_RULES_MAX, { error: `must have at most ${PRESENCE_RULES_MAX} entries` })
      .default([])
      .describe(
        'How presence channels behave. The first rule that fits a channel counts. See [presence](../use/presence.md).',
      ),
    webhooks: z
      .array(webhook.meta({ id: 'AppWebhook' }))
      .default([])
      .describe('The endpoints that receive events of this app.'),
    pushRules,
  })
  .describe('One app: a tenant of the Channels API with its own keys, limits and webhooks.');

/** The settings under `channels`: the listener for apps, and the apps. */
export const channelsSettings = z
  .strictObject({
    host: listenHost('0.0.0.0'),
    port: port(6001, 'The port to listen on'),
    pathPrefix,
    healthChecks,
    maxConnections: wholeNumber(
      { min: 0, max: COUNT_MAX },
      0,
      'Open connections of the whole server. At the limit, the app with the most connections loses one: of its client addresses, the one with the most (4100). 0 = the limit of open files, or the share of `memoryBytes` if that is less.',
    ),
    maxSubscriptions: wholeNumber(
      { min: 0, max: COUNT_MAX },
      0,
      'Subscriptions of the whole server. At the limit, the app with the most subscriptions gets no more, or loses a connection to make room for another app. 0 = what half of `memoryBytes` can hold, or its share if that is less.',
    ),
    maxFallbackConnections: wholeNumber(
      { min: 0, max: COUNT_MAX },
      10_000,
      'Open connections of the whole server that use HTTP requests instead of a WebSocket, readers of server-sent events included. Each costs more per event than a WebSocket. At the limit, the app and address with the most lose one (4100). 0 = such connections are refused.',
    ),
    activityTimeoutSeconds: wholeNumber(
      { min: 1, max: SECONDS_MAX },
      120,
      'Seconds without a message of the client after which the server pings it: by a ping of the WebSocket protocol, or over HTTP by an event.',
    ),
    pongTimeoutSeconds: wholeNumber(
      { min: 1, max: SECONDS_MAX },
      30,
      'Seconds within which a pinged client must send anything, such as a pong. After half of them it is also pinged by an event. Otherwise it is closed with 4201.',
    ),
    authorizationTimeoutSeconds: wholeNumber(
      { min: 1, max: SECONDS_MAX },
      10,
      'Seconds within which a connection must authorise if the app has `authorizedConnectionsOnly`. Otherwise it is closed with 4009.',
    ),
    clientFrameBytes: wholeNumber(
      { min: BYTES_MIN, max: BYTES_MAX },
      65_536,
      'Bytes in one frame from a client. A longer frame closes the connection with 1009.',
    ),
    sendBufferBytes: wholeNumber(
      { min: BYTES_MIN, max: BYTES_MAX },
      SEND_BUFFER_BYTES,
      'Bytes that may wait for one slow connection. Beyond that it is closed, logged and counted.',
    ),
    waitingBytes: wholeNumber(
      { min: 0, max: Number.MAX_SAFE_INTEGER },
      0,
      'Bytes that may wait for all connections together. Beyond that, the slowest readers of the app with the most waiting bytes are closed and counted; 0 = a quarter of `memoryBytes`, or its share if that is less.',
    ),
    framesPerSecond: limit(
      300,
      'Frames per second of one connection, in addition to its client events. Each 4 KiB counts as one frame. The burst is ten times this rate. More are dropped and answered with one 4301; a client that continues is closed with 1008. What a client makes the server send to itself (events of histories, cached events, members) has the same rate and burst: 4 KiB or 16 events of a history count as one frame, and beyond that its subscriptions wait',
    ),
    addressLimits: z
      .strictObject({
        connectionsPerSecond: limit(
          2_000,
          'New connections per second from one client address. The burst is 60 s worth. More are refused with HTTP 429',
        ),
        framesPerSecond: limit(
          50_000,
          'Frames per second of all connections of one client address, ended ones included, counted as for `framesPerSecond`. The burst is 60 s worth. Beyond that, new connections are refused with HTTP 429 and the busiest ones are closed with 1008. What clients make the server send to themselves has the same rate and burst: beyond that, their subscriptions wait',
        ),
      })
      .prefault({})
      .describe(
        'Rates of one client address. See `trustedProxies`. Each of several realtime threads enforces its share of them.',
      ),
    historyBytes: wordOrNumber('auto', { min: 0, max: Number.MAX_SAFE_INTEGER })
      .default(AUTO)
      .describe(
        'Bytes of all histories of the server, counted as for `history`. At the limit, the app with the most loses its oldest events. With several realtime threads, each has an equal share. `auto` = 134217728, or its share of `memoryBytes` if that is less; 134217728 over Redis.',
      ),
    subscriptionErrors: onOff(
      true,
      'Also send `subscription_error` for the refused channel when a subscription is refused.',
    ),
    requestBytes: wholeNumber(
      { min: BYTES_MIN, max: BYTES_MAX },
      1_048_576,
      'Bytes in the body of one HTTP request. A longer body is refused with 413.',
    ),
    unfinishedBytes: wordOrNumber('auto', { min: BYTES_MIN, max: Number.MAX_SAFE_INTEGER })
      .default(AUTO)
      .describe(
        'Bytes of all request bodies that have not fully arrived, and as many again of answers that were not read. At the limit, requests of the app with the most get 503. `auto` = 134217728, or its share of `memoryBytes` if that is less.',
      ),
    // Bun.serve accepts no longer time.
    httpIdleSeconds: httpIdleSeconds(255),
    bodyBytesPerSecond: limit(
      4096,
      'Minimum speed of a request body in bytes per second, after 5 s. Slower requests are refused with 408',
    ),
    apps: z
      .array(appSettings)
      .optional()
      .describe('The apps. If this is missing, all apps are in the store.'),
  })
  .prefault({})
  .describe('The listener for clients and backends of Channels.');

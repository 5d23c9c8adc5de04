import { z } from 'zod';
import {
  anyText,
  BYTES_MAX,
  BYTES_MIN,
  COUNT_MAX,
  httpUrl,
  limit,
  oneOrMore,
  onOff,
  port,
  SECONDS_MAX,
  text,
  textThat,
  wholeNumber,
} from './setting-kinds.ts';

const key = z.strictObject({
  key: text('The public half, which clients and backends name.'),
  secret: text('The secret half, which backends sign with.'),
});

const limits = z.strictObject({
  connections: limit(0, 'Connections of this app at one time; one more is refused with 4004'),
  messagesPerDay: wholeNumber(
    { min: 0, max: Number.MAX_SAFE_INTEGER },
    0,
    'Messages of this app per day (UTC); more are refused; 0 = no limit.',
  ),
  eventDataBytes: wholeNumber(
    { min: 1, max: BYTES_MAX },
    10_240,
    'Bytes in the data of one event; more is refused with 413.',
  ),
  channelsPerTrigger: wholeNumber(
    { min: 1, max: COUNT_MAX },
    100,
    'Channels one trigger may name; more are refused.',
  ),
  eventsPerBatch: wholeNumber(
    { min: 1, max: COUNT_MAX },
    10,
    'Events in one batch; more are refused.',
  ),
  presenceMembers: limit(100, 'Members of one presence channel; one more may not subscribe'),
  clientEventsPerSecond: limit(
    10,
    'Client events per second of one connection; more are answered with 4301',
  ),
  channelsPerConnection: limit(
    1000,
    'Channels one connection may subscribe to; one more is refused',
  ),
  subscriptionsPerSecond: limit(
    100,
    'Attempts of one connection to subscribe or sign in, per second; at once ten times as many, and `channelsPerConnection` at least; more are refused with 4301',
  ),
  memberChangesPerSecond: limit(
    10,
    'How often per second the members of a presence channel are told that one user came or went; of more changes only the last is told',
  ),
  triggersPerSecond: limit(
    0,
    'Triggers per second that the HTTP API takes for this app, counted once more for 10 KiB of a body that are neither data nor names of channels; more are refused with 429',
  ),
  queriesPerSecond: limit(
    10_000,
    'GET requests and calls of `terminate_connections` per second that the HTTP API takes for this app, a listing counted once more for 10 channels that it lists, and for 50 that it looks through; more are refused with 429',
  ),
});

const webhook = z.strictObject({
  url: httpUrl('The http or https address that the events are sent to.'),
  events: oneOrMore(
    z.enum([
      'channel_occupied',
      'channel_vacated',
      'member_added',
      'member_removed',
      'client_event',
      'cache_miss',
      'subscription_count',
    ]),
    'The events that are sent there.',
  ),
  batching: onOff(true, 'Whether events of a short while share one request.'),
});

// A person writes 1 without quotes; the protocol has text there.
const appId = z
  .preprocess(
    (value) => (Number.isSafeInteger(value) ? String(value) : value),
    textThat(/^[\w-]{1,100}$/, 'be 1 to 100 of the characters A-Z a-z 0-9 _ -', ''),
  )
  .describe('The id in the paths of the HTTP API: 1 to 100 of A-Z a-z 0-9 _ -.');

export const appSettings = z
  .strictObject({
    id: appId,
    name: anyText('').default('').describe('A name for people.'),
    enabled: onOff(true, 'Whether the app may be used; clients of a disabled one get 4003.'),
    keys: oneOrMore(
      key,
      'Pairs of key and secret, several while they are rotated; the first signs webhooks.',
    ),
    clientEvents: onOff(false, 'Whether clients may send events to each other.'),
    subscriptionCounts: onOff(false, 'Whether subscribers are told how many they are.'),
    watchlists: onOff(false, 'Whether users may watch when other users are online.'),
    authorizedConnectionsOnly: onOff(
      false,
      'Whether a connection that neither signs in nor joins a private channel in time is closed.',
    ),
    limits: limits.prefault({}),
    webhooks: z.array(webhook).default([]).describe('Where events of this app are sent.'),
  })
  .describe('One app: a tenant of the Channels API with its own keys, limits and webhooks.');

/** What `channels` may hold: the listener that apps connect to, and the apps. */
export const channelsSettings = z
  .strictObject({
    host: text('').default('0.0.0.0').describe('The address to listen on.'),
    port: port(6001, 'The port to listen on'),
    pathPrefix: textThat(
      /^(?:\/[^/?#\s]+)*$/,
      "be empty, or begin with '/' and not end with it",
      '',
    )
      .default('')
      .describe("Stands before every path of this listener: empty, or begins with '/'."),
    maxConnections: wholeNumber(
      { min: 0, max: COUNT_MAX },
      0,
      'Connections of the whole server at one time; beyond it, the app and the address that have most of them get 4100; 0 = as many as open files allow.',
    ),
    maxSubscriptions: wholeNumber(
      { min: 0, max: COUNT_MAX },
      0,
      'Subscriptions of the whole server at one time; beyond it, the app that has most of them is refused more, and loses connections to others; 0 = what half of the memory holds.',
    ),
    activityTimeoutSeconds: wholeNumber(
      { min: 1, max: SECONDS_MAX },
      120,
      'Seconds of silence after which a connection is asked whether it is still there.',
    ),
    pongTimeoutSeconds: wholeNumber(
      { min: 1, max: SECONDS_MAX },
      30,
      'Seconds an asked connection has to answer before it is closed with 4201.',
    ),
    authorizationTimeoutSeconds: wholeNumber(
      { min: 1, max: SECONDS_MAX },
      10,
      'Seconds a connection has to authorise where `authorizedConnectionsOnly` is set, then 4009.',
    ),
    clientFrameBytes: wholeNumber(
      { min: BYTES_MIN, max: BYTES_MAX },
      65_536,
      'Bytes in one frame from a client; a longer one closes the connection with 1009.',
    ),
    sendBufferBytes: wholeNumber(
      { min: BYTES_MIN, max: BYTES_MAX },
      1_048_576,
      'Bytes queued for one connection that reads too slowly; over it the connection is closed and counted.',
    ),
    waitingBytes: wholeNumber(
      { min: 0, max: Number.MAX_SAFE_INTEGER },
      0,
      'Bytes queued for all connections together; beyond it, the slowest readers of the app for which most waits are closed and counted; 0 = a quarter of the memory.',
    ),
    framesPerSecond: limit(
      300,
      'Frames of one connection per second, beside the client events of `limits.clientEventsPerSecond`, each 4 KiB counted once; at once ten times as many; more are dropped and answered with 4301 once, and a client that goes on is closed with 1008',
    ),
    addressLimits: z
      .strictObject({
        connectionsPerSecond: limit(
          2_000,
          'New connections per second from one client address, a minute of them at once; more are refused with 429',
        ),
        framesPerSecond: limit(
          50_000,
          'Frames per second of all connections of one client address, those that have ended too, a minute of them at once, counted as for `framesPerSecond`; beyond it, new connections are refused with 429, and those that send most are closed with 1008',
        ),
      })
      .prefault({})
      .describe('What clients may do from one address; see `trustedProxies`.'),
    subscriptionErrors: onOff(
      true,
      'Whether a refused subscription is also told in an event that names the channel, so that its own handlers hear of it.',
    ),
    requestBytes: wholeNumber(
      { min: BYTES_MIN, max: BYTES_MAX },
      1_048_576,
      'Bytes in the body of one HTTP request; a longer one is refused with 413.',
    ),
    unfinishedBytes: wholeNumber(
      { min: BYTES_MIN, max: Number.MAX_SAFE_INTEGER },
      134_217_728,
      'Bytes of all request bodies that have not arrived in full; beyond it, the app that has most of them gets 503.',
    ),
    bodyBytesPerSecond: limit(
      4096,
      'Bytes per second that the body of a request must arrive with after 5 seconds; slower ones are refused with 408',
    ),
    apps: z
      .array(appSettings)
      .optional()
      .describe('The apps; without it the server keeps its own in the store.'),
  })
  .prefault({})
  .describe('The listener for Channels clients and backends.');

import { z } from 'zod';
import { isObject, isPlainJson, PLAIN_JSON } from './plain-json.ts';
import {
  BYTES_MAX,
  COUNT_MAX,
  httpUrl,
  limit,
  oneOrMore,
  onOff,
  origin,
  orNull,
  port,
  SECONDS_MAX,
  text,
  textThat,
  wholeNumber,
} from './setting-kinds.ts';
import { isVapidPair, isVapidPrivateKey, isVapidPublicKey } from './vapid-keys.ts';

const gatewayOrigin = orNull(
  origin(''),
  "An origin to use in place of the vendor's, such as a proxy; null = the vendor's.",
);
const gatewayCaFile = orNull(
  text(''),
  "A PEM file of certificate authorities to trust in place of the system's; null = the system's.",
);

const apns = z
  .strictObject({
    teamId: text('The id of the Apple developer team.'),
    keyId: text('The id of the signing key.'),
    privateKeyFile: text('The .p8 file of the signing key.'),
    environment: z
      .enum(['production', 'sandbox', 'auto'])
      .default('production')
      .describe(
        "Which of Apple's two services the app's tokens belong to; auto = where one does not know a token, the other is tried once, and which it was is remembered.",
      ),
    origin: gatewayOrigin,
    caFile: gatewayCaFile,
  })
  .describe('How iOS devices are reached; without it they are not.');

const fcm = z
  .strictObject({
    serviceAccountFile: text('The JSON file of the service account, from the Firebase console.'),
    origin: gatewayOrigin,
    caFile: gatewayCaFile,
  })
  .describe('How Android devices are reached; without it they are not.');

/** How push services reach whoever runs this server. */
export const vapidSubject = textThat(
  // Push services are told it, so it must not hold anything secret.
  /^(?:mailto:|https:\/\/(?![^/?#]*@))\S+$/,
  'begin with mailto: or https://, without a name and password',
  'How push services reach the operator: mailto:… or https://….',
);

const vapid = z
  .strictObject({
    publicKey: z
      .string()
      .refine(isVapidPublicKey, {
        error: 'must be 65 bytes of P-256 in URL-safe base64',
        abort: true,
      })
      .overwrite(withoutPadding)
      .describe('The public key, in URL-safe base64, which web pages subscribe with.'),
    privateKey: z
      .string()
      .refine(isVapidPrivateKey, {
        error: 'must be 32 bytes of P-256 in URL-safe base64',
        abort: true,
      })
      .overwrite(withoutPadding)
      .describe('The private key, in URL-safe base64.'),
    subject: vapidSubject,
  })
  .refine(({ publicKey, privateKey }) => isVapidPair(publicKey, privateKey), {
    error: 'publicKey and privateKey do not belong together',
  });

/** Some tools end a key with it; browsers are given it without. */
function withoutPadding(key: string): string {
  return key.replace(/=+$/, '');
}

/** The push services of the browsers in use. Source: push protocol, 8.3.5. */
const BROWSER_PUSH_SERVICES = [
  'fcm.googleapis.com',
  'android.googleapis.com',
  'jmt17.google.com',
  'updates.push.services.mozilla.com',
  '*.push.apple.com',
  '*.notify.windows.com',
  'graph.facebook.com',
];

const web = z
  .strictObject({
    vapid,
    allowedHosts: z
      .array(
        textThat(
          /^(?:(?:\*\.)?[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/,
          'be a host, *.host, or host:port',
          '',
        ),
      )
      .default(BROWSER_PUSH_SERVICES)
      .describe(
        'The push services that may be sent to: a host (port 443, or any port where `allowPrivateAddresses` is set), `*.host` for every host below it, or `host:port`.',
      ),
    allowPrivateAddresses: onOff(
      false,
      'Whether a push service may be at a private or loopback address.',
    ),
    caFile: gatewayCaFile,
  })
  .describe('How browsers are reached; without it they are not.');

const webhook = z.strictObject({
  url: httpUrl('The http or https address that the events are sent to.'),
  events: oneOrMore(
    z.enum([
      'v1.PublishToUsersAttempt',
      'v1.UserNotificationAcknowledgement',
      'v1.UserNotificationOpen',
    ]),
    'The events that are sent there.',
  ),
  secret: text('The secret that requests are signed with.'),
  // Not a record: that would drop a key named __proto__ without a word.
  customData: z
    .custom<Record<string, unknown>>((value) => isObject(value) && isPlainJson(value), {
      error: `must be an object of ${PLAIN_JSON}`,
    })
    .default({})
    .describe('An object that is sent along with each event.'),
});

const instanceId = textThat(
  /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
  'be a UUID such as 6f1b0f5e-6c1c-4c6c-9d8e-1f0e5a6f7b8c',
  '',
).toLowerCase();

export const instanceSettings = z
  .strictObject({
    id: instanceId.describe('The instance id, a UUID, which SDKs are given.'),
    name: z.string().default('').describe('A name for people.'),
    secretKeys: oneOrMore(
      text(''),
      'The secret keys that backends may use, several while they are rotated.',
    ),
    limits: z
      .strictObject({
        devices: limit(
          0,
          'Devices of this instance; one more is refused with 429. With more devices that a gateway has accepted, publishing is refused with 402',
        ),
        interests: limit(
          50_000_000,
          'Interests of all devices of this instance, each counted for each device; more are refused with 429',
        ),
        publishesPerSecond: limit(100, 'Publishes per second of this instance; more are refused'),
        backendRequestsPerSecond: limit(
          10_000,
          'Requests per second of the backend of this instance that are no publish, and as many publishes that break a rule, each KiB of these counted as one more; more are refused with 429',
        ),
        pendingPublishBytes: limit(
          268_435_456,
          'Bytes in the bodies of publishes of this instance that are not finished, each counted as 512 at least; more are refused with 429',
        ),
        deviceRequestsPerSecond: limit(
          5_000,
          'Requests of all devices of this instance per second, a minute of them at once; more are refused with 429',
        ),
        deviceRowsPerSecond: limit(
          5_000,
          'Rows that all devices of this instance change in the store per second (an interest is one, a registration about four), a minute of them at once; more are refused with 429',
        ),
        reportsPerSecond: limit(
          5_000,
          'Reports of all devices of this instance per second, a minute of them at once; more are refused with 429',
        ),
      })
      .prefault({}),
    whenUserIsFull: z
      .enum(['refuse', 'replace-oldest'])
      .default('refuse')
      .describe(
        'What happens when a user with 100 devices on a platform signs in on one more: it is refused with 422, or the device that was heard of longest ago is removed.',
      ),
    apns: apns.optional(),
    fcm: fcm.optional(),
    web: web.optional(),
    webhooks: z.array(webhook).default([]).describe('Where events of this instance are sent.'),
  })
  .describe('One instance: a tenant of the push API with its own keys, gateways and webhooks.');

/** What `push` may hold: the listener that devices and backends use, and the instances. */
export const pushSettings = z
  .strictObject({
    host: text('').default('0.0.0.0').describe('The address to listen on.'),
    port: port(6002, 'The port to listen on'),
    publicUrl: orNull(
      origin(''),
      'The address by which browsers reach this listener, such as https://push.example.org; null = the one that they ask for.',
    ),
    maxConnections: wholeNumber(
      { min: 1, max: COUNT_MAX },
      20_000,
      'Connections to this listener at one time, as far as open files allow; one more takes the place of one of the address that has most.',
    ),
    bodyBytesPerSecond: wholeNumber(
      { min: 0, max: BYTES_MAX },
      1024,
      'The least speed of a request body, on average after its first 5 seconds; a slower one is refused with 408; 0 = any speed.',
    ),
    addressLimits: z
      .strictObject({
        connectionsPerSecond: limit(
          1_000,
          'New connections per second from one address, 5 seconds of them at once; more are closed. Not for proxies in `trustedProxies`',
        ),
        requestsPerSecond: limit(
          1_000,
          'Requests without a secret key per second from one client address, a minute of them at once; each KiB that a device sends counts as one more; more are refused with 429',
        ),
        rowsPerSecond: limit(
          500,
          'Rows that devices at one client address change in the store per second (an interest is one, a registration about four), a minute of them at once; more are refused with 429',
        ),
        reportsPerSecond: limit(
          1_000,
          'Reports of devices per second from one client address, a minute of them at once; more are refused with 429',
        ),
      })
      .prefault({})
      .describe('What devices may do from one client address; see `trustedProxies`.'),
    tokenLeewaySeconds: wholeNumber(
      { min: 0, max: SECONDS_MAX },
      60,
      "Seconds by which the clock of a backend that makes Beams tokens may differ; the Python library needs its machine's offset from UTC.",
    ),
    tokenIssuers: z
      .array(
        textThat(
          /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::\d{1,5})?$/i,
          'be a host such as push.example.org',
          '',
        ).toLowerCase(),
      )
      .default([])
      .describe(
        'Hosts whose https://INSTANCE-ID.HOST may have issued a Beams token, beside pushnotifications.pusher.com and the host of `publicUrl`.',
      ),
    instances: z
      .array(instanceSettings)
      .optional()
      .describe('The instances; without it the server keeps its own in the store.'),
  })
  .prefault({})
  .describe('The listener for devices and backends that publish.');

import { z } from 'zod';
import { isTimeOfDay, readTimeZone } from '../../runtime/time/time-zone.ts';
import { isObject, isPlainJson, PLAIN_JSON } from './plain-json.ts';
import {
  BYTES_MAX,
  COUNT_MAX,
  healthChecks,
  httpIdleSeconds,
  httpUrl,
  limit,
  listenHost,
  oneOrMore,
  onOff,
  origin,
  orNull,
  pathPrefix,
  port,
  requiredNumber,
  SECONDS_MAX,
  text,
  textThat,
  wholeNumber,
  wordOrNumber,
} from './setting-kinds.ts';
import {
  isVapidPublicKey,
  PRIVATE_KEY_RULE,
  readVapidPair,
  readVapidPrivateKey,
  type VapidPair,
  withoutPadding,
} from './vapid-keys.ts';

/** As many as its share of the memory can hold. */
const CONNECTIONS_DEFAULT: 'auto' | number = 'auto';

const gatewayOrigin = orNull(
  origin(''),
  "An origin to use instead of the vendor's, such as a proxy; null = the vendor's.",
);
const gatewayCaFile = orNull(
  text(''),
  "A PEM file of certificate authorities to trust instead of the system's; null = the system's.",
);

/** The limit of characters of a credential. Apple's have 260, Google's 2,400. */
const CREDENTIAL_LENGTH_MAX = 16_384;

/** A credential in the settings themselves. */
function credentialText(description: string) {
  const error = `must have at most ${CREDENTIAL_LENGTH_MAX} characters`;
  return text(description).max(CREDENTIAL_LENGTH_MAX, { error }).optional();
}

const apns = z
  .strictObject({
    teamId: text('The id of the Apple developer team.'),
    keyId: text('The id of the signing key.'),
    privateKeyFile: text('The .p8 file of the signing key.').optional(),
    privateKey: credentialText(
      'The text of that file in its place, for instances of the store. It is never shown again.',
    ),
    environment: z
      .enum(['production', 'sandbox', 'auto'])
      .default('production')
      .describe(
        "Which of Apple's two services the app's tokens belong to; auto = if one does not know a token, the other is tried once and remembered.",
      ),
    origin: gatewayOrigin,
    caFile: gatewayCaFile,
  })
  .refine(
    ({ privateKeyFile, privateKey }) =>
      (privateKeyFile === undefined) !== (privateKey === undefined),
    {
      error: 'needs either privateKeyFile or privateKey',
    },
  )
  .describe('How to reach iOS devices. Without it they get no notifications.');

const fcm = z
  .strictObject({
    serviceAccountFile: text(
      'The JSON file of the service account, from the Firebase console, or of an external account, which holds no key.',
    ).optional(),
    serviceAccount: credentialText(
      'The text of that file in its place, for instances of the store. It is never shown again.',
    ),
    metadata: onOff(
      false,
      'Send with the service account of this machine, on GCE, GKE and Cloud Run, in place of a file. `GCE_METADATA_HOST` names another metadata server.',
    ),
    projectId: textThat(
      /^[A-Za-z0-9][\w.:-]{0,127}$/,
      'be the id of a Firebase project such as shop-1234',
      'The Firebase project, if the credential names none: with `metadata`, and with the file of an external account.',
    ).optional(),
    origin: gatewayOrigin,
    caFile: gatewayCaFile,
  })
  .refine(
    ({ serviceAccountFile, serviceAccount, metadata }) =>
      [serviceAccountFile !== undefined, serviceAccount !== undefined, metadata].filter(Boolean)
        .length === 1,
    {
      error: 'needs one of serviceAccountFile, serviceAccount and metadata',
    },
  )
  .refine(({ metadata, projectId }) => !metadata || projectId !== undefined, {
    path: ['projectId'],
    error: 'is needed with metadata, which names no project',
  })
  .describe('How to reach Android devices. Without it they get no notifications.');

/** The contact that push services see. */
export const vapidSubject = textThat(
  // Push services receive it, so it must not contain a secret.
  /^(?:mailto:|https:\/\/(?![^/?#]*@))\S+$/,
  'begin with mailto: or https://, without a name and password',
  'How push services can contact the operator: mailto:… or https://….',
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
      .optional()
      .describe(
        'The public key in URL-safe base64. Web pages subscribe with it. Without it: that of the private key.',
      ),
    privateKey: z
      .string()
      .max(CREDENTIAL_LENGTH_MAX, {
        error: `must have at most ${CREDENTIAL_LENGTH_MAX} characters`,
        abort: true,
      })
      .refine((key) => readVapidPrivateKey(key) !== undefined, {
        error: PRIVATE_KEY_RULE,
      })
      .optional()
      .describe(
        'The private key: 32 bytes in URL-safe or standard base64, PEM, or base64 of DER (PKCS#8 or SEC1).',
      ),
    privateKeyFile: text(
      'A file with the private key in one of these forms. The store keeps the key itself.',
    ).optional(),
    subject: vapidSubject,
  })
  .check((parsed) => {
    const read = readVapidPair(parsed.value);
    if (read.ok) {
      parsed.value = { subject: parsed.value.subject, ...read.pair };
      return;
    }
    parsed.issues.push({
      code: 'custom',
      message: read.why,
      path: read.setting === '' ? [] : [read.setting],
      input: parsed.value,
    });
  });

/** The keys after a check, which fills both in and leaves the file out. The types of zod cannot say that. */
const checkedVapid = vapid as unknown as z.ZodObject<
  Record<keyof VapidPair | 'subject', z.ZodString>,
  z.core.$strict
>;

/** The push services of current browsers. Source: push protocol, 8.3.5. */
export const BROWSER_PUSH_SERVICES = [
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
    vapid: checkedVapid.meta({ id: 'VapidKeys' }),
    allowedHosts: z
      .array(
        textThat(
          /^(?:\*|(?:\*\.)?[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/,
          'be a host, *.host, host:port, or *',
          '',
        ),
      )
      .default(BROWSER_PUSH_SERVICES)
      .describe(
        'The allowed push services: a host (port 443, or any port if `allowPrivateAddresses` is set), `*.host` for every host below it, `host:port`, or `*` for every host, as UnifiedPush needs: then the instance may have 100 devices at each host that is not named.',
      ),
    allowPrivateAddresses: onOff(false, 'Allow push services at private and loopback addresses.'),
    caFile: gatewayCaFile,
    declarative: onOff(
      false,
      'Send Safari messages that it can show without a service worker, unless a publish says otherwise with `web.declarative`.',
    ),
  })
  .describe('How to reach browsers. Without it they get no notifications.');

const webhook = z.strictObject({
  url: httpUrl('The http or https URL that receives the events.'),
  events: oneOrMore(
    z.enum([
      'v1.PublishToUsersAttempt',
      'v1.UserNotificationAcknowledgement',
      'v1.UserNotificationOpen',
    ]),
    'The types of events to send.',
  ),
  secret: text('The secret that signs the requests.'),
  // Not a record: zod would silently drop a key named __proto__.
  customData: z
    .custom<Record<string, unknown>>((value) => isObject(value) && isPlainJson(value), {
      error: `must be an object of ${PLAIN_JSON}`,
    })
    .default({})
    .describe('An object to send with each event.'),
});

const timeOfDay = (description: string) =>
  text(description).refine(isTimeOfDay, { error: 'must be a time such as 22:00' });

export const quietHours = z
  .strictObject({
    from: timeOfDay('When they begin, as HH:MM.'),
    to: timeOfDay('When they end, as HH:MM. They may go over midnight.'),
  })
  .refine(({ from, to }) => from !== to, { error: 'must begin and end at different times' });

export const cap = z.strictObject({
  notifications: requiredNumber({ min: 1, max: 1000 }, 'Notifications of one device.'),
  hours: requiredNumber({ min: 1, max: 168 }, 'The time, which begins with the first of them.'),
});

const instanceId = textThat(
  /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
  'be a UUID such as 6f1b0f5e-6c1c-4c6c-9d8e-1f0e5a6f7b8c',
  '',
).toLowerCase();

export const instanceSettings = z
  .strictObject({
    id: instanceId.describe('The instance id, a UUID. SDKs are configured with it.'),
    name: z.string().default('').describe('A name for people.'),
    secretKeys: oneOrMore(text(''), 'The secret keys of backends. Use several during a rotation.'),
    app: text(
      'The id of the app whose users are the users of this instance, for `live` in publishes. Who has a secret key of the instance can then send events in the app.',
    ).optional(),
    limits: z
      .strictObject({
        devices: limit(
          0,
          'Devices of this instance. More are refused with 429. If more devices than this were accepted by a gateway, publishing is refused with 402',
        ),
        interests: limit(
          50_000_000,
          'Subscriptions to interests of all devices of this instance. More are refused with 429',
        ),
        publishesPerSecond: limit(100, 'Valid publishes per second. More are refused with 429'),
        backendRequestsPerSecond: limit(
          10_000,
          'Backend requests per second other than publishes. The same limit holds for invalid publishes, of which each KiB counts as one more request. More are refused with 429',
        ),
        pendingPublishBytes: limit(
          268_435_456,
          'Bytes in the bodies of unfinished publishes, at least 512 each. From 80 % on, publishes that wait only for failures give way. A publish that finds no room within 2 s is refused with 429',
        ),
        retryHours: wholeNumber(
          { min: 1, max: 672 },
          72,
          'Hours after which a notification is not tried any more, whatever its time to live. They count from when the publish was due.',
        ),
        importRowsPerSecond: limit(
          2_000,
          'Devices per second that backends import. More are refused with 429',
        ),
        deviceRequestsPerSecond: limit(
          5_000,
          'Requests per second of all devices. The burst is 60 s worth. More are refused with 429',
        ),
        deviceRowsPerSecond: limit(
          5_000,
          'Rows per second that all devices change in the store (an interest is one, a registration about four). The burst is 60 s worth. More are refused with 429',
        ),
        reportsPerSecond: limit(
          5_000,
          'Reports per second of all devices. The burst is 60 s worth. More are refused with 429',
        ),
      })
      .meta({ id: 'InstanceLimits' })
      .prefault({}),
    whenUserIsFull: z
      .enum(['refuse', 'replace-oldest'])
      .default('refuse')
      .describe(
        'What to do when a user who has 100 devices on a platform signs in on another one: refuse it with 422, or remove the device that was seen longest ago.',
      ),
    timeZone: text('The time zone of devices that say none, a name of the IANA database.')
      .refine((zone) => readTimeZone(zone) !== undefined, {
        error: 'must be a time zone of the IANA database, for example Europe/Berlin',
      })
      .default('UTC'),
    quietHours: quietHours
      .meta({ id: 'QuietHours' })
      .nullable()
      .default(null)
      .describe(
        'When notifications wait, by the local time of each device that says nothing itself; null = they do not wait.',
      ),
    cap: cap
      .meta({ id: 'NotificationCap' })
      .nullable()
      .default(null)
      .describe(
        'How many notifications a device is shown in a time; null = any number. `urgent` of a publish passes it.',
      ),
    apns: apns.meta({ id: 'ApnsSettings' }).optional(),
    fcm: fcm.meta({ id: 'FcmSettings' }).optional(),
    web: web.meta({ id: 'WebSettings' }).optional(),
    webhooks: z
      .array(webhook.meta({ id: 'InstanceWebhook' }))
      .default([])
      .describe('The endpoints that receive events of this instance.'),
  })
  .describe('One instance: a tenant of the push API with its own keys, gateways and webhooks.');

/** The settings under `push`: the listener for devices and backends, and the instances. */
export const pushSettings = z
  .strictObject({
    host: listenHost('0.0.0.0'),
    port: port(6002, 'The port to listen on'),
    pathPrefix,
    healthChecks,
    publicUrl: orNull(
      origin(''),
      'The origin under which browsers reach this listener, such as https://push.example.org; null = the host of their request.',
    ),
    maxConnections: wordOrNumber('auto', { min: 1, max: COUNT_MAX })
      .default(CONNECTIONS_DEFAULT)
      .describe(
        'Open connections to this listener, as far as open files allow. At the limit, the address with the most connections loses one. `auto` = 20000, or what its share of `memoryBytes` can hold if that is less.',
      ),
    httpIdleSeconds: httpIdleSeconds(SECONDS_MAX),
    bodyBytesPerSecond: wholeNumber(
      { min: 0, max: BYTES_MAX },
      1024,
      'Minimum speed of a request body in bytes per second, on average after 5 s. Slower requests are refused with 408; 0 = no limit.',
    ),
    addressLimits: z
      .strictObject({
        connectionsPerSecond: limit(
          1_000,
          'New connections per second from one address. The burst is 5 s worth. More are closed. Does not apply to `trustedProxies`',
        ),
        requestsPerSecond: limit(
          1_000,
          'Requests per second without a secret key from one client address. Each KiB of a body counts as one more. The burst is 60 s worth. More are refused with 429',
        ),
        rowsPerSecond: limit(
          500,
          'Rows per second that devices at one client address change in the store (an interest is one, a registration about four). The burst is 60 s worth. More are refused with 429',
        ),
        reportsPerSecond: limit(
          1_000,
          'Reports per second from one client address. The burst is 60 s worth. More are refused with 429',
        ),
      })
      .prefault({})
      .describe('Rates of one client address. See `trustedProxies`.'),
    tokenLeewaySeconds: wholeNumber(
      { min: 0, max: SECONDS_MAX },
      60,
      "Seconds by which the clock of a backend that issues Beams tokens may differ. The Python library needs its machine's offset from UTC.",
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
        'Further hosts whose https://INSTANCE-ID.HOST may issue Beams tokens. pushnotifications.pusher.com and the host of `publicUrl` always may.',
      ),
    instances: z
      .array(instanceSettings)
      .optional()
      .describe('The instances. If this is missing, all instances are in the store.'),
  })
  .prefault({})
  .describe('The listener for devices and backends of push.');

import { z } from 'zod';
import { isObject, isPlainJson, PLAIN_JSON } from './plain-json.ts';
import {
  httpUrl,
  limit,
  oneOrMore,
  onOff,
  origin,
  orNull,
  port,
  text,
  textThat,
} from './setting-kinds.ts';

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
      .enum(['production', 'sandbox'])
      .default('production')
      .describe("Which of Apple's two services the app's tokens belong to."),
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

const vapid = z.strictObject({
  publicKey: text('The public key, in URL-safe base64, which web pages subscribe with.'),
  privateKey: text('The private key, in URL-safe base64.'),
  subject: textThat(
    /^(?:mailto:|https:\/\/)\S+$/,
    'begin with mailto: or https://',
    'How push services reach the operator: mailto:… or https://….',
  ),
});

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

const instance = z
  .strictObject({
    id: textThat(
      /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
      'be a UUID such as 6f1b0f5e-6c1c-4c6c-9d8e-1f0e5a6f7b8c',
      'The instance id, a UUID, which SDKs are given.',
    ),
    name: z.string().default('').describe('A name for people.'),
    secretKeys: oneOrMore(
      text(''),
      'The secret keys that backends may use, several while they are rotated.',
    ),
    limits: z
      .strictObject({
        devices: limit(0, 'Devices of this instance; one more may not register'),
        publishesPerSecond: limit(100, 'Publishes per second of this instance; more are refused'),
      })
      .prefault({}),
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
    instances: z
      .array(instance)
      .optional()
      .describe('The instances; without it the server keeps its own in the store.'),
  })
  .prefault({})
  .describe('The listener for devices and backends that publish.');

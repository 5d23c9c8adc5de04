import type { GatewayRequest } from '../../../admin/push/composing.ts';
import type { InstanceSettings } from '../../../config/schema.ts';
import { apnsFields, apnsPath } from '../../../gateways/apns/apns-request.ts';
import { environmentOrigins } from '../../../gateways/apns/environments.ts';
import { FCM_ORIGIN } from '../../../gateways/fcm/fcm-gateway.ts';
import { CONTENT_TYPE, FcmBodies, fcmPath } from '../../../gateways/fcm/fcm-request.ts';
import { WebPushFields } from '../../../gateways/web/web-push-request.ts';
import { type HeaderField, plainField } from '../../../outgoing/http2/hpack/header-field.ts';
import type { Notification } from '../../../push/gateway.ts';
import { apnsBytesMax, apnsMessage } from '../../../push/messages/apns-message.ts';
import {
  declarativeBytes,
  declarativeMessage,
} from '../../../push/messages/declarative-message.ts';
import {
  FCM_MESSAGE_BYTES_MAX,
  fcmMessage,
  fcmMessageBytes,
} from '../../../push/messages/fcm-message.ts';
import { WEB_MESSAGE_BYTES_MAX, webMessage } from '../../../push/messages/web-message.ts';
import { topicOf } from '../../../push/model/apns-push-types.ts';
import { NIL_PUBLISH_ID } from '../../../push/model/publish-id.ts';
import type { Text, Texts } from '../../../push/model/texts.ts';
import type { ApnsPayload } from '../../../push/payloads/apns.ts';
import type { FcmPayload } from '../../../push/payloads/fcm.ts';
import { withText } from '../../../push/payloads/localised.ts';
import type { Payloads } from '../../../push/payloads/payloads.ts';
import type { WebPayload } from '../../../push/payloads/web.ts';

/** Placeholders for values that differ per device or are secret. */
const DEVICE_TOKEN = 'DEVICE-TOKEN';
const TOPIC = 'BUNDLE-ID-OF-THE-DEVICE';
const PROJECT = 'PROJECT-ID';
const ENDPOINT = 'ENDPOINT-OF-THE-BROWSER';
const CREDENTIAL = 'CREDENTIAL';

/** A token of Apple's form. The placeholder replaces it in the shown request. */
const APNS_TOKEN = '0'.repeat(64);

/** The push service that gets the most header fields. */
const PUSH_SERVICE = 'updates.push.services.mozilla.com';

/** The requests that the gateways would get, made by the code that makes the real ones. The publish has no id yet. */
export function gatewayRequests(
  payloads: Payloads,
  { texts, ...about }: RequestsOf,
): readonly GatewayRequest[] {
  const inLanguages = [...(texts ?? [])].flatMap(([language, text]) =>
    requestsOf(changedBy(payloads, text), about).map((request) => ({ ...request, language })),
  );
  return [...requestsOf(payloads, about), ...inLanguages];
}

interface RequestsOf {
  readonly instance: InstanceSettings;
  readonly texts: Texts | undefined;
  readonly nowMs: number;
}

/** Only the payloads that say something else with the text. */
function changedBy(payloads: Payloads, text: Text): Payloads {
  const { apns, fcm, web } = withText(payloads, text);
  return {
    apns: apns === payloads.apns ? undefined : apns,
    fcm: fcm === payloads.fcm ? undefined : fcm,
    web: web === payloads.web ? undefined : web,
  };
}

function requestsOf(
  { apns, fcm, web }: Payloads,
  { instance, nowMs }: Omit<RequestsOf, 'texts'>,
): readonly GatewayRequest[] {
  const about = { instanceId: instance.id, publishId: NIL_PUBLISH_ID, acceptedAtMs: nowMs };
  return [
    ...(apns === undefined ? [] : [apnsRequest({ ...about, payload: apns }, instance)]),
    ...(fcm === undefined ? [] : [fcmRequest({ ...about, payload: fcm }, instance)]),
    ...(web === undefined ? [] : webRequests({ ...about, payload: web }, instance)),
  ];
}

function apnsRequest(
  notification: Notification<ApnsPayload>,
  { apns }: InstanceSettings,
): GatewayRequest {
  const { body, headers } = apnsMessage(notification.payload, notification);
  const { origin = null, environment = 'production' } = apns ?? {};
  const service = environmentOrigins[environment === 'auto' ? 'production' : environment];
  const path = apnsPath(APNS_TOKEN)?.replace(APNS_TOKEN, DEVICE_TOKEN) ?? '';
  const authorization = plainField('authorization', `bearer ${CREDENTIAL}`);
  const topic = topicOf(TOPIC, headers.pushType);
  return {
    platform: 'apns',
    only: undefined,
    language: undefined,
    bytes: Buffer.byteLength(body),
    bytesMax: apnsBytesMax(notification.payload),
    url: `${origin ?? service}${path}`,
    headers: shown(apnsFields(headers, topic, notification.publishId, authorization)),
    body,
  };
}

function fcmRequest(
  notification: Notification<FcmPayload>,
  { fcm }: InstanceSettings,
): GatewayRequest {
  const { message } = fcmMessage(notification.payload, notification);
  const bodies = new FcmBodies(notification);
  return {
    platform: 'fcm',
    only: undefined,
    language: undefined,
    bytes: fcmMessageBytes(message),
    bytesMax: FCM_MESSAGE_BYTES_MAX,
    url: `${fcm?.origin ?? FCM_ORIGIN}${fcmPath(PROJECT)}`,
    headers: shown([plainField('authorization', `Bearer ${CREDENTIAL}`), CONTENT_TYPE]),
    body: bodies.of(DEVICE_TOKEN, notification.acceptedAtMs).toString(),
  };
}

function webRequests(
  notification: Notification<WebPayload>,
  { web }: InstanceSettings,
): readonly GatewayRequest[] {
  const { payload } = notification;
  const toAll = webRequest(notification, webMessage(payload, notification));
  const isDeclarative = payload.declarative ?? web?.declarative ?? false;
  // One that is too large could have any size, and is never sent.
  const fits = declarativeBytes(payload, notification) <= WEB_MESSAGE_BYTES_MAX;
  if (!isDeclarative || !fits) return [toAll];
  const declarative = declarativeMessage(payload, notification);
  return [toAll, { ...webRequest(notification, declarative), only: 'safari' }];
}

function webRequest(notification: Notification<WebPayload>, body: string): GatewayRequest {
  const fields = new WebPushFields(notification).at(notification.acceptedAtMs, PUSH_SERVICE);
  return {
    platform: 'web',
    only: undefined,
    language: undefined,
    bytes: Buffer.byteLength(body),
    bytesMax: WEB_MESSAGE_BYTES_MAX,
    url: ENDPOINT,
    headers: shown([plainField('authorization', `vapid t=${CREDENTIAL}`), ...fields]),
    body,
  };
}

function shown(fields: readonly HeaderField[]): GatewayRequest['headers'] {
  return fields.map(({ name, value }) => ({ name, value }));
}

import { createHmac } from 'node:crypto';
import { isJsonObject, type JsonObject, parseJsonObject } from '../../runtime/json-object.ts';
import type { BeamsEventType } from '../model/instance.ts';
import type { PublishId, Report } from '../model/publish.ts';
import { nameUuid } from './name-uuid.ts';
import type { NamedWebhook } from './named-webhooks.ts';

/** Something that webhooks of an instance are told. */
export interface BeamsEvent {
  readonly type: BeamsEventType;
  /** The same whenever it is told again. */
  readonly id: string;
  readonly payload: JsonObject;
}

/** Users of a publish, by what became of it for them. Who is in several lists counts in the first of them. */
export interface UsersAttempted {
  /** A gateway has taken it for one of their devices at least. */
  readonly delivered: readonly string[];
  /** They have devices that might have been reached, and no gateway has taken it for any of them. */
  readonly gatewayFailed: readonly string[];
  /** None of their devices can be reached any more, or they never had one. */
  readonly noDevices: readonly string[];
}

/** What a device of a known user has reported. */
export interface UserReport extends Pick<Report, 'event' | 'publishId' | 'deviceId'> {
  readonly userId: string;
}

/** What has become of a publish to users. Each of them is in exactly one list. Source: push protocol, §4.2. */
export function usersAttemptEvent(
  instanceId: string,
  publishId: PublishId,
  { delivered, gatewayFailed, noDevices }: UsersAttempted,
): BeamsEvent {
  const type = 'v1.PublishToUsersAttempt';
  const told = new Set<string>();
  const untold = (users: readonly string[]) =>
    users.filter((user) => {
      const isNew = !told.has(user);
      told.add(user);
      return isNew;
    });
  // In the order of precedence; they are written in that of the documentation.
  const [first, second, third] = [untold(delivered), untold(gatewayFailed), untold(noDevices)];
  return {
    type,
    id: nameUuid(instanceId, [type, publishId]),
    payload: {
      instance_id: instanceId,
      publish_id: publishId,
      users_delivered_to_gateway: first,
      users_no_devices: third,
      users_gateway_failed: second,
    },
  };
}

/** What the device of a user has reported. A device reports each once, so each is another event. */
export function userReportEvent(
  instanceId: string,
  { event, publishId, deviceId, userId }: UserReport,
): BeamsEvent {
  const type = reportTypes[event];
  return {
    type,
    id: nameUuid(instanceId, [type, publishId, deviceId]),
    payload: { instance_id: instanceId, publish_id: publishId, user_id: userId },
  };
}

/** Which event each kind of report is told as. */
export const reportTypes = {
  delivery: 'v1.UserNotificationAcknowledgement',
  open: 'v1.UserNotificationOpen',
} as const satisfies Record<Report['event'], BeamsEventType>;

/** The body of a request that tells an event. */
export function beamsBody(
  event: BeamsEvent,
  customData: NamedWebhook['customData'],
  createdAtMs: number,
): string {
  return JSON.stringify({
    payload: event.payload,
    metadata: {
      created_at: timeText(createdAtMs),
      event_type: event.type,
      event_id: event.id,
      product: 'beams',
    },
    custom_data: customData,
  });
}

/** The headers of a request with such a body. `requestId` is the same however often it is sent. */
export function beamsHeaders(
  { id, secret }: Pick<NamedWebhook, 'id' | 'secret'>,
  requestId: string,
  body: string,
): Readonly<Record<string, string>> {
  return {
    'content-type': 'application/json',
    'user-agent': 'pusher-webhooks',
    'webhook-event-type': eventTypeOf(body),
    'webhook-id-uuid': id,
    'webhook-request-id-uuid': requestId,
    'webhook-signature': createHmac('sha1', secret).update(body).digest('hex'),
  };
}

/** As the hosted service writes it: seconds, and an offset without a colon. */
function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}+0000`;
}

function eventTypeOf(body: string): string {
  const metadata = parseJsonObject(body)?.['metadata'];
  return isJsonObject(metadata) ? String(metadata['event_type']) : '';
}

import { createHmac } from 'node:crypto';
import { isJsonObject, type JsonObject, parseJsonObject } from '../../runtime/json-object.ts';
import type { BeamsEventType } from '../model/instance.ts';
import type { PublishId, Report } from '../model/publish.ts';
import { nameUuid } from './name-uuid.ts';
import type { NamedWebhook } from './named-webhooks.ts';

/** An event for the webhooks of an instance. */
export interface BeamsEvent {
  readonly type: BeamsEventType;
  /** The id of the event, which is the same each time it is sent. */
  readonly id: string;
  readonly payload: JsonObject;
}

/** Users of a publish by their result. A user in several lists counts in the first of them. */
export interface UsersAttempted {
  /** Users for at least one of whose devices a gateway has accepted it. */
  readonly delivered: readonly string[];
  /** Users with reachable devices, for none of which a gateway has accepted it. */
  readonly gatewayFailed: readonly string[];
  /** Users without reachable devices. */
  readonly noDevices: readonly string[];
  /** Users who got it in the app; `undefined`: the publish has no live part. */
  readonly live?: readonly string[] | undefined;
}

/** A report of a device with a known user. */
export interface UserReport extends Pick<Report, 'event' | 'publishId' | 'deviceId'> {
  readonly userId: string;
}

/** The result of a publish to users. Each user is in exactly one list. Source: push protocol, §4.2. */
export function usersAttemptEvent(
  instanceId: string,
  publishId: PublishId,
  { delivered, gatewayFailed, noDevices, live }: UsersAttempted,
): BeamsEvent {
  const type = 'v1.PublishToUsersAttempt';
  const listed = new Set<string>();
  const notListed = (users: readonly string[]) =>
    users.filter((user) => {
      const isNew = !listed.has(user);
      listed.add(user);
      return isNew;
    });
  // In the order of precedence. The documentation has another order.
  const inApp = live && notListed(live);
  const first = notListed(delivered);
  const second = notListed(gatewayFailed);
  const third = notListed(noDevices);
  return {
    type,
    id: nameUuid(instanceId, [type, publishId]),
    payload: {
      instance_id: instanceId,
      publish_id: publishId,
      ...(inApp && { users_reached_live: inApp }),
      users_delivered_to_gateway: first,
      users_no_devices: third,
      users_gateway_failed: second,
    },
  };
}

/** The event for a device's report. Each report of a device is an event of its own. */
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

/** The event type of each kind of report. */
export const reportTypes = {
  delivery: 'v1.UserNotificationAcknowledgement',
  open: 'v1.UserNotificationOpen',
} as const satisfies Record<Report['event'], BeamsEventType>;

/** The body of a request with an event. */
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

/** The headers of such a request. `requestId` is the same for each attempt. */
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

/** In the format of the hosted service: whole seconds, and an offset without a colon. */
function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}+0000`;
}

function eventTypeOf(body: string): string {
  const metadata = parseJsonObject(body)?.['metadata'];
  return isJsonObject(metadata) ? String(metadata['event_type']) : '';
}

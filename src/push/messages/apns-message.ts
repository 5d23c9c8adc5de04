import type { JsonObject } from '../../runtime/json-object.ts';
import type { ApnsPayload } from '../payloads/apns.ts';
import type { Tracking } from './tracking.ts';

/** Source: push protocol, §5.2 and §8.1. */
export const APNS_MESSAGE_BYTES_MAX = 4096;

/** A request to APNs, without what depends on the device. */
export interface ApnsMessage {
  /** JSON text. */
  readonly body: string;
  readonly headers: ApnsHeaders;
}

export interface ApnsHeaders {
  readonly pushType: 'alert' | 'background';
  readonly priority?: 5 | 10;
  /** Unix time in seconds. */
  readonly expiration?: number;
  /** If the customer gave one. */
  readonly collapseId?: string;
}

/** Builds the body that the iOS SDK reads, and the headers for APNs. Source: push protocol, §5.2. */
export function apnsMessage(payload: ApnsPayload, tracking: Tracking): ApnsMessage {
  return { body: bodyOf(payload, tracking), headers: headersOf(payload) };
}

function bodyOf(payload: ApnsPayload, { instanceId, publishId }: Tracking): string {
  const { aps, data, contentAvailable, tracked } = payload;
  // The SDK can report a notification only if content-available wakes it up.
  const sentAps = contentAvailable || tracked ? { ...aps, 'content-available': 1 } : aps;
  if (!tracked) return JSON.stringify({ aps: sentAps, data });
  // Woken up for the report only, the app must not see the notification.
  const pusher = contentAvailable
    ? { instanceId, publishId }
    : { instanceId, publishId, userShouldIgnore: true };
  return JSON.stringify({ aps: sentAps, data: { ...data, pusher } });
}

function headersOf(payload: ApnsPayload): ApnsHeaders {
  const { priority, expirationSeconds, collapseId } = payload;
  const isAlert = isShown(payload.aps);
  // Apple refuses any other priority for a background notification.
  const sentPriority = isAlert ? priority : 5;
  return {
    pushType: isAlert ? 'alert' : 'background',
    ...(sentPriority === undefined ? {} : { priority: sentPriority }),
    ...(expirationSeconds === undefined ? {} : { expiration: expirationSeconds }),
    ...(collapseId === undefined ? {} : { collapseId }),
  };
}

function isShown(aps: JsonObject): boolean {
  return ['alert', 'badge', 'sound'].some((name) => aps[name] !== undefined);
}

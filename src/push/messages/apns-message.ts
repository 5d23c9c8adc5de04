import {
  type ApnsPriority,
  type ApnsPushType,
  isFurther,
  isShown,
  pushTypes,
} from '../model/apns-push-types.ts';
import type { ApnsPayload } from '../payloads/apns.ts';
import type { Tracking } from './tracking.ts';

/** Source: push protocol, §5.2 and §8.1. */
export const APNS_MESSAGE_BYTES_MAX = 4096;

/** The limit of one payload's message. */
export function apnsBytesMax({ pushType }: ApnsPayload): number {
  return pushType === undefined ? APNS_MESSAGE_BYTES_MAX : pushTypes[pushType].bytesMax;
}

/** What a message says about its publish. */
export interface ApnsTracking extends Tracking {
  /** When the publish was due. */
  readonly acceptedAtMs: number;
}

/** A request to APNs, without what depends on the device. */
export interface ApnsMessage {
  /** JSON text. */
  readonly body: string;
  readonly headers: ApnsHeaders;
}

export interface ApnsHeaders {
  readonly pushType: ApnsPushType;
  readonly priority?: ApnsPriority;
  /** Unix time in seconds. */
  readonly expiration?: number;
  /** If the customer gave one. */
  readonly collapseId?: string;
}

/** Builds the body that the iOS SDK reads, and the headers for APNs. Source: push protocol, §5.2. */
export function apnsMessage(payload: ApnsPayload, tracking: ApnsTracking): ApnsMessage {
  const body = isFurther(payload.pushType)
    ? furtherBody(payload, tracking)
    : bodyOf(payload, tracking);
  return { body, headers: headersOf(payload) };
}

function bodyOf(payload: ApnsPayload, { instanceId, publishId }: Tracking): string {
  const { aps, data, contentAvailable, tracked, moreKeys } = payload;
  // The SDK can report a notification only if content-available wakes it up.
  const sentAps = contentAvailable || tracked ? { ...aps, 'content-available': 1 } : aps;
  if (!tracked) return JSON.stringify({ aps: sentAps, data, ...moreKeys });
  // Woken up for the report only, the app must not see the notification.
  const pusher = contentAvailable
    ? { instanceId, publishId }
    : { instanceId, publishId, userShouldIgnore: true };
  return JSON.stringify({ aps: sentAps, data: { ...data, pusher }, ...moreKeys });
}

/** The body for further tokens. No SDK reads it, so it has nothing that makes one report it. */
function furtherBody(payload: ApnsPayload, { acceptedAtMs }: ApnsTracking): string {
  const { aps, data, contentAvailable, pushType, moreKeys } = payload;
  const sentAps = {
    ...aps,
    ...(contentAvailable ? { 'content-available': 1 } : {}),
    ...(pushType === 'widgets' || pushType === 'controls' ? { 'content-changed': true } : {}),
    // The same for each device and attempt: a late retry must not show an older state.
    ...(pushType === 'liveactivity' && aps['timestamp'] === undefined
      ? { timestamp: Math.floor(acceptedAtMs / 1000) }
      : {}),
  };
  const hasAps = Object.keys(sentAps).length > 0 || (data === undefined && moreKeys === undefined);
  return JSON.stringify({ ...(hasAps ? { aps: sentAps } : {}), data, ...moreKeys });
}

function headersOf(payload: ApnsPayload): ApnsHeaders {
  const { priority, expirationSeconds, collapseId } = payload;
  const pushType = payload.pushType ?? (isShown(payload.aps) ? 'alert' : 'background');
  // Apple refuses the priority 10 for a background notification.
  const sentPriority = payload.pushType === undefined && pushType === 'background' ? 5 : priority;
  return {
    pushType,
    ...(sentPriority === undefined ? {} : { priority: sentPriority }),
    ...(expirationSeconds === undefined ? {} : { expiration: expirationSeconds }),
    ...(collapseId === undefined ? {} : { collapseId }),
  };
}

import type { JsonObject } from '../../runtime/json-object.ts';
import type { WebPayload } from '../payloads/web.ts';
import type { Tracking } from './tracking.ts';

/** The limit of the plaintext: encrypted, that is 4096 bytes, which push services must accept. Source: §8.3.2. */
export const WEB_MESSAGE_BYTES_MAX = 3993;

/** Builds the JSON that the web SDK's service worker reads. Source: push protocol, §5.1. */
export function webMessage(payload: WebPayload, tracking: Tracking): string {
  const { notification, appBadge } = payload;
  return JSON.stringify({ notification, app_badge: appBadge, data: webData(payload, tracking) });
}

/** The customer's data, and the block for the service worker. */
export function webData(
  { notification, data }: WebPayload,
  { instanceId, publishId }: Tracking,
): JsonObject {
  const pusher = {
    instanceId,
    publishId,
    hasDisplayableContent: notification !== undefined,
    hasData: data !== undefined && Object.keys(data).length > 0,
  };
  return { ...data, pusher };
}

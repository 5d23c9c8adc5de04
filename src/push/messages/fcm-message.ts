import type { JsonObject } from '../../runtime/json-object.ts';
import type { FcmPayload } from '../payloads/fcm.ts';
import type { Tracking } from './tracking.ts';

/** Source: push protocol, §8.2. */
export const FCM_MESSAGE_BYTES_MAX = 4096;

/** The activity of the Android SDK that reports an open before it runs the customer's action. Source: §5.3. */
const OPEN_TRACKING = 'com.pusher.pushnotifications.OPEN_TRACKING';

/** A request to FCM, without the device. */
export interface FcmMessage {
  /** The field `message` of the v1 API. */
  readonly message: FcmMessageFields;
  readonly validateOnly: boolean;
}

export interface FcmMessageFields {
  readonly notification?: JsonObject;
  readonly data: FcmData;
  readonly android?: FcmAndroid;
  readonly apns?: unknown;
  readonly webpush?: unknown;
  readonly fcm_options?: unknown;
}

/** The fields that the server reads; others are passed through. */
type FcmAndroid = JsonObject & { readonly notification?: JsonObject; readonly data?: FcmData };

/** FCM accepts only strings. */
type FcmData = Readonly<Record<string, string>>;

/** Builds the message that FCM delivers to the Android SDK. Source: push protocol, §5.3. */
export function fcmMessage(payload: FcmPayload, tracking: Tracking): FcmMessage {
  const own = payload.data && textsOf(payload.data);
  const ownAndroid = payload.androidData && textsOf(payload.androidData);
  const pusher = pusherOf(payload, ownAndroid ?? own ?? {}, tracking);
  const android = androidOf(payload, ownAndroid && { ...ownAndroid, pusher });
  const { notification } = payload;
  return {
    message: {
      ...(isEmpty(notification) ? {} : { notification }),
      data: { ...own, pusher },
      ...(isEmpty(android) ? {} : { android }),
      ...payload.others,
    },
    validateOnly: payload.validateOnly,
  };
}

/** JSON text, as data may hold only strings. */
function pusherOf(payload: FcmPayload, own: FcmData, { instanceId, publishId }: Tracking): string {
  return JSON.stringify({
    instanceId,
    publishId,
    clickAction: payload.clickAction,
    hasDisplayableContent: payload.isShown,
    hasData: !isEmpty(own),
  });
}

function androidOf(payload: FcmPayload, data: FcmData | undefined): FcmAndroid {
  const { android, androidNotification, isShown, timeToLiveSeconds } = payload;
  return {
    ...android,
    ...(timeToLiveSeconds === undefined ? {} : { ttl: `${timeToLiveSeconds}s` }),
    // A message without a notification is for the app itself, and must not get one.
    ...(isShown ? { notification: { ...androidNotification, click_action: OPEN_TRACKING } } : {}),
    ...(data === undefined ? {} : { data }),
  };
}

function textsOf(data: JsonObject): FcmData {
  return Object.fromEntries(
    Object.entries(data)
      .filter(([, value]) => value !== null)
      .map(([key, value]) => [key, textOf(value)]),
  );
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function isEmpty(object: object): boolean {
  return Object.keys(object).length === 0;
}

/** The size that counts towards FCM's limit: keys and values that reach the device, in bytes of UTF-8. */
export function fcmMessageBytes({ notification, data, android }: FcmMessageFields): number {
  return bytesOf(notification) + bytesOf(android?.notification) + bytesOf(android?.data ?? data);
}

function bytesOf(fields: JsonObject | undefined): number {
  return Object.entries(fields ?? {}).reduce(
    (bytes, [key, value]) => bytes + Buffer.byteLength(key) + Buffer.byteLength(textOf(value)),
    0,
  );
}

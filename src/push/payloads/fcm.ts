import { isGiven, type JsonObject, withoutNulls } from '../../runtime/json-object.ts';
import type { FieldFault } from '../refusal.ts';
import {
  dataWithout,
  type FieldRules,
  findFault,
  flag,
  isPusherKey,
  isTexts,
  numberIn,
  object,
  objectIn,
  oneOf,
  type Rule,
  TIME_TO_LIVE_SECONDS_MAX,
  text,
  textIn,
  timeToLive,
} from './field-rules.ts';

/**
 * A checked payload for FCM, translated from FCM's legacy HTTP API to v1, the only one left. Backends may use fields of
 * v1 as well. Source: push protocol, §5.3.
 */
export interface FcmPayload {
  readonly timeToLiveSeconds: number | undefined;
  /** `message.notification`: title, body and image. */
  readonly notification: JsonObject;
  /** `message.android`, without what the fields below hold. */
  readonly android: JsonObject;
  /** `message.android.notification`, without the click action. */
  readonly androidNotification: JsonObject;
  /** The customer's action for a tap on the notification. */
  readonly clickAction: string | undefined;
  /** Whether the device shows a notification by itself. */
  readonly isShown: boolean;
  /** The customer's data. FCM accepts only strings. */
  readonly data: JsonObject | undefined;
  /** Replaces `data` on Android. */
  readonly androidData: JsonObject | undefined;
  /** Fields of v1 that pass through. */
  readonly others: JsonObject;
  /** FCM validates the message but does not send it. */
  readonly validateOnly: boolean;
}

/** FCM refuses messages with these keys in their data. */
function isReservedKey(key: string): boolean {
  return (
    isPusherKey(key) ||
    ['from', 'message_type', 'gcm'].includes(key) ||
    key.startsWith('google') ||
    key.startsWith('gcm.')
  );
}

const data = dataWithout(isReservedKey);

const notAllowed: Rule = () => 'is not allowed: the publish says which devices it is for';

const notForAndroid: Rule = () => 'is not allowed: it is for devices of apns';

const color: Rule = (value) =>
  typeof value === 'string' && /^#[0-9a-f]{6}$/i.test(value)
    ? undefined
    : 'must be a color, as #rrggbb';

const argumentTexts: Rule = (value) =>
  readTexts(value) === undefined ? 'must be an array of strings, or JSON text of one' : undefined;

const duration: Rule = (value) =>
  readDuration(value) === undefined
    ? `must be seconds from "0s" to "${TIME_TO_LIVE_SECONDS_MAX}s"`
    : undefined;

/** Fields that have the same name in both APIs, or are in v1 only. */
const v1Rules: FieldRules = [
  ['notification', object],
  ['data', data],
  ['android', object],
  ['apns', object],
  ['webpush', object],
  ['fcm_options', object],
];

const payloadRules: FieldRules = [
  ['time_to_live', timeToLive],
  ['collapse_key', text],
  ['priority', oneOf('normal', 'high')],
  ['restricted_package_name', text],
  ['dry_run', flag],
  ...v1Rules,
  ['message', object],
  ['to', notAllowed],
  ['registration_ids', notAllowed],
  ['condition', notAllowed],
  ['content_available', notForAndroid],
  ['mutable_content', notForAndroid],
];

/** The fields of `fcm` that are read. */
export const fcmFields: readonly string[] = payloadRules.map(([name]) => name);

const messageRules: FieldRules = [
  ...v1Rules,
  ['token', notAllowed],
  ['fid', notAllowed],
  ['topic', notAllowed],
  ['condition', notAllowed],
];

/** Names in the legacy API, and in v1. */
type Renames = readonly (readonly [name: string, newName: string])[];

/** From the payload to `android`. */
const optionNames: Renames = [
  ['collapse_key', 'collapse_key'],
  ['restricted_package_name', 'restricted_package_name'],
];

/** Passed through from both. */
const otherNames: Renames = [
  ['apns', 'apns'],
  ['webpush', 'webpush'],
  ['fcm_options', 'fcm_options'],
];

/** From `notification` to `notification`. */
const sharedNotificationNames: Renames = [
  ['title', 'title'],
  ['body', 'body'],
  ['image', 'image'],
];

/** From `notification` to `android.notification`. */
const androidNotificationNames: Renames = [
  ['android_channel_id', 'channel_id'],
  ['icon', 'icon'],
  ['sound', 'sound'],
  ['tag', 'tag'],
  ['color', 'color'],
  ['body_loc_key', 'body_loc_key'],
  ['title_loc_key', 'title_loc_key'],
];

/** From and to the same places. In the legacy API they may be the JSON text of an array. */
const argumentNames = ['body_loc_args', 'title_loc_args'] as const;

const notificationRules: FieldRules = [
  ...[...sharedNotificationNames, ...androidNotificationNames].map(
    ([name]) => [name, name === 'color' ? color : text] as const,
  ),
  ...argumentNames.map((name) => [name, argumentTexts] as const),
  ['click_action', text],
];

const androidRules: FieldRules = [
  ['ttl', duration],
  ['notification', object],
  ['data', data],
];

/** FCM accepts both spellings. */
const androidNotificationRules: FieldRules = [
  ['click_action', text],
  ['clickAction', text],
];

/** Reads the field `fcm` of a publish. */
export function readFcmPayload(payload: JsonObject): FcmPayload | FieldFault {
  const message = objectIn(payload, 'message');
  const fault =
    findFault(payload, payloadRules, 'fcm') ??
    findInnerFault(payload, 'fcm') ??
    (message && findFault(message, messageRules, 'fcm.message')) ??
    (message && findInnerFault(message, 'fcm.message'));
  return fault ?? translate(payload, message ?? {});
}

function findInnerFault(fields: JsonObject, at: string): FieldFault | undefined {
  const notification = objectIn(fields, 'notification');
  const android = objectIn(fields, 'android');
  const androidNotification = android && objectIn(android, 'notification');
  return (
    (notification && findFault(notification, notificationRules, `${at}.notification`)) ??
    (android && findFault(android, androidRules, `${at}.android`)) ??
    (androidNotification &&
      findFault(androidNotification, androidNotificationRules, `${at}.android.notification`))
  );
}

/** Translates to v1. A field of v1 takes precedence over the legacy one. */
function translate(payload: JsonObject, message: JsonObject): FcmPayload {
  const objectOf = (name: string) => objectIn(message, name) ?? objectIn(payload, name);
  const notification = objectOf('notification') ?? {};
  const android = objectOf('android') ?? {};
  const { ttl, notification: _notification, data: _data, ...androidRest } = android;
  const v1Notification = objectIn(android, 'notification') ?? {};
  const { click_action: _snake, clickAction: _camel, ...v1NotificationRest } = v1Notification;
  return {
    timeToLiveSeconds: readDuration(ttl) ?? numberIn(payload, 'time_to_live'),
    notification: pick(notification, sharedNotificationNames),
    android: { ...translateOptions(payload), ...androidRest },
    androidNotification: { ...translateNotification(notification), ...v1NotificationRest },
    clickAction:
      textIn(v1Notification, 'click_action') ??
      textIn(v1Notification, 'clickAction') ??
      textIn(notification, 'click_action'),
    isShown: isGiven(objectOf('notification') ?? objectIn(android, 'notification')),
    data: objectOf('data'),
    androidData: objectIn(android, 'data'),
    others: pick({ ...payload, ...withoutNulls(message) }, otherNames),
    validateOnly: payload['dry_run'] === true,
  };
}

function translateOptions(payload: JsonObject): JsonObject {
  const { priority } = payload;
  const options = pick(payload, optionNames);
  return typeof priority === 'string' ? { ...options, priority: priority.toUpperCase() } : options;
}

function translateNotification(notification: JsonObject): JsonObject {
  const translated = pick(notification, androidNotificationNames);
  for (const name of argumentNames) {
    const args = readTexts(notification[name]);
    if (args !== undefined) translated[name] = args;
  }
  return translated;
}

/** The given fields, by their new names. */
function pick(fields: JsonObject, names: Renames): Record<string, unknown> {
  const picked: Record<string, unknown> = {};
  for (const [name, newName] of names) {
    if (isGiven(fields[name])) picked[newName] = fields[name];
  }
  return picked;
}

/** Reads an array of strings, or the JSON text of one, as the legacy API did. */
function readTexts(value: unknown): readonly string[] | undefined {
  if (isTexts(value)) return value;
  if (typeof value !== 'string' || !value.startsWith('[')) return undefined;
  try {
    const parsed: unknown = JSON.parse(value);
    return isTexts(parsed) ? parsed : undefined;
  } catch (error) {
    // Not JSON, or nested deeper than the stack.
    if (error instanceof SyntaxError || error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Reads a duration of v1, for example `3600s`, rounded down to whole seconds. */
function readDuration(value: unknown): number | undefined {
  const digits =
    typeof value === 'string' ? /^(\d{1,7})(?:\.\d{1,9})?s$/.exec(value)?.[1] : undefined;
  const seconds = Number(digits);
  return seconds <= TIME_TO_LIVE_SECONDS_MAX ? seconds : undefined;
}

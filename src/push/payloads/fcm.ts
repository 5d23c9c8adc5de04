import { isGiven, type JsonObject } from '../../runtime/json-object.ts';
import { FieldFault } from '../refusal.ts';
import {
  camelCase,
  GIVEN_TWICE,
  isReservedByFcm,
  readTimeToLive,
  readV1,
  V1Fault,
  v1Name,
} from './fcm-v1.ts';
import { androidConfig, fcmMessageFields, passedParts } from './fcm-v1-fields.ts';
import {
  dataWithout,
  type FieldRule,
  type FieldRules,
  findFault,
  flag,
  isPusherKey,
  isTexts,
  numberIn,
  object,
  objectIn,
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

const data = dataWithout((key) => isPusherKey(key) || isReservedByFcm(key));

const notAllowed: FieldRule = () => 'is not allowed: the publish says which devices it is for';

const notForAndroid: FieldRule = () => 'is not allowed: it is for devices of apns';

/** The priority, as the legacy API or v1 writes it. */
const priority: FieldRule = (value) =>
  typeof value === 'string' && /^(?:normal|high)$/i.test(value)
    ? undefined
    : 'must be "normal" or "high"';

const color: FieldRule = (value) =>
  typeof value === 'string' && /^#[0-9a-f]{6}$/i.test(value)
    ? undefined
    : 'must be a color, as #rrggbb';

const argumentTexts: FieldRule = (value) =>
  readTexts(value) === undefined ? 'must be an array of strings, or JSON text of one' : undefined;

/** The parts of a message that have the fields of v1. */
const v1Parts = { android: androidConfig, ...passedParts };

/** Fields that have the same name in both APIs, or are in v1 only. */
const v1Rules: FieldRules = [
  ['notification', object],
  ['data', data],
  ...Object.keys(v1Parts).map((name) => [name, object] as const),
];

const payloadRules: FieldRules = [
  ['time_to_live', timeToLive],
  ['collapse_key', text],
  ['priority', priority],
  ['restricted_package_name', text],
  ['dry_run', flag],
  ['validate_only', flag],
  ...v1Rules,
  ['message', object],
  ['to', notAllowed],
  ['registration_ids', notAllowed],
  ['condition', notAllowed],
  ['content_available', notForAndroid],
  ['mutable_content', notForAndroid],
];

/** The fields of `fcm` that are read, in both spellings. */
export const fcmFields: readonly string[] = [
  ...new Set(payloadRules.flatMap(([name]) => [name, camelCase(name)])),
];

const messageRules: FieldRules = [
  ...v1Rules,
  ['token', notAllowed],
  ['fid', notAllowed],
  ['topic', notAllowed],
  ['condition', notAllowed],
  // FCM's name for the message, which only it may give.
  ['name', text],
];

/** Names in the legacy API, and in v1. */
type Renames = readonly (readonly [name: string, newName: string])[];

/** From the payload to `android`. */
const optionNames: Renames = [
  ['collapse_key', 'collapse_key'],
  ['restricted_package_name', 'restricted_package_name'],
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

/** Lists that keep their places. In the legacy API they may be the JSON text of an array. */
const argumentNames = ['body_loc_args', 'title_loc_args'] as const;

const notificationRules: FieldRules = [
  ...[...sharedNotificationNames, ...androidNotificationNames].map(
    ([name]) => [name, name === 'color' ? color : text] as const,
  ),
  ...argumentNames.map((name) => [name, argumentTexts] as const),
  ['click_action', text],
];

/** Rules for fields that the table of FCM's fields does not have. */
const androidRules: FieldRules = [['data', data]];

/** Reads the field `fcm` of a publish. */
export function readFcmPayload(given: JsonObject): FcmPayload | FieldFault {
  const payload = readLevel(given, payloadRules, 'fcm');
  if (payload instanceof FieldFault) return payload;
  const inner = objectIn(payload, 'message') ?? {};
  const unknown = Object.keys(inner).find((name) => v1Name(name, fcmMessageFields) === undefined);
  if (unknown !== undefined) return unknownField('fcm.message', unknown);
  const message = readLevel(inner, messageRules, 'fcm.message');
  return message instanceof FieldFault ? message : translate(payload, message);
}

/**
 * Reads the payload, or the message in it: names in both spellings, without nulls, and with the parts of v1 as FCM reads
 * them. Undocumented fields of the payload stay, and are ignored.
 */
function readLevel(given: JsonObject, rules: FieldRules, at: string): JsonObject | FieldFault {
  const names = Object.fromEntries(rules);
  const fields: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given)) {
    const known = v1Name(name, names);
    if (known === undefined || !isGiven(value)) continue;
    if (Object.hasOwn(fields, known)) return new FieldFault(`${at}.${name}`, GIVEN_TWICE);
    fields[known] = value;
  }
  const fault = findFault(fields, rules, at);
  if (fault !== undefined) return fault;
  for (const [name, table] of Object.entries(v1Parts)) {
    const part = objectIn(fields, name);
    if (part === undefined) continue;
    const read = readV1(part, { table, at: `${at}.${name}`, hasEmptyArrays: true });
    if (read instanceof V1Fault) return faultOf(read);
    fields[name] = read;
  }
  return findInnerFault(fields, at) ?? fields;
}

function faultOf({ at, name, rule }: V1Fault): FieldFault {
  return rule === undefined ? unknownField(at, name) : new FieldFault(`${at}.${name}`, rule);
}

function unknownField(at: string, name: string): FieldFault {
  return new FieldFault(at, `FCM knows no field ${JSON.stringify(name.slice(0, 40))}`);
}

function findInnerFault(fields: JsonObject, at: string): FieldFault | undefined {
  const notification = objectIn(fields, 'notification');
  const android = objectIn(fields, 'android');
  return (
    (notification && findFault(notification, notificationRules, `${at}.notification`)) ??
    (android && findFault(android, androidRules, `${at}.android`))
  );
}

/** Translates to v1. A field of v1 takes precedence over the legacy one. */
function translate(payload: JsonObject, message: JsonObject): FcmPayload {
  const objectOf = (name: string) => objectIn(message, name) ?? objectIn(payload, name);
  const notification = objectOf('notification') ?? {};
  const android = objectOf('android') ?? {};
  const { ttl, notification: _notification, data: _data, ...androidRest } = android;
  const v1Notification = objectIn(android, 'notification') ?? {};
  const { click_action: _action, ...v1NotificationRest } = v1Notification;
  return {
    timeToLiveSeconds: readTimeToLive(ttl) ?? numberIn(payload, 'time_to_live'),
    notification: pick(notification, sharedNotificationNames),
    android: { ...translateOptions(payload), ...androidRest },
    androidNotification: { ...translateNotification(notification), ...v1NotificationRest },
    clickAction: textIn(v1Notification, 'click_action') ?? textIn(notification, 'click_action'),
    isShown: isGiven(objectOf('notification') ?? objectIn(android, 'notification')),
    data: objectOf('data'),
    androidData: objectIn(android, 'data'),
    others: Object.fromEntries(
      Object.keys(passedParts).flatMap((name) => {
        const part = objectOf(name);
        return part === undefined ? [] : [[name, part]];
      }),
    ),
    validateOnly: payload['dry_run'] === true || payload['validate_only'] === true,
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

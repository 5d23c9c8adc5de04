import { isGiven, isJsonObject, type JsonObject } from '../../runtime/json-object.ts';

/** A fault in a message: a field path and a description, in Google's form. */
export interface FcmMessageFault {
  readonly field: string;
  readonly description: string;
}

/** Source: push protocol, §8.2. */
const MESSAGE_BYTES_MAX = 4096;

const TTL_SECONDS_MAX = 2_419_200;

const TARGETS = ['token', 'fid', 'topic', 'condition'] as const;

/** Known names in both spellings that FCM accepts; others are refused. Source: FCM, "Message". */
const REQUEST_NAMES = names('message', 'validate_only');
const MESSAGE_NAMES = names(
  ...TARGETS,
  'name',
  'data',
  'notification',
  'android',
  'apns',
  'webpush',
  'fcm_options',
);
const NOTIFICATION_NAMES = names('title', 'body', 'image');
const ANDROID_NAMES = names(
  'collapse_key',
  'priority',
  'ttl',
  'restricted_package_name',
  'data',
  'notification',
  'fcm_options',
  'direct_boot_ok',
  'bandwidth_constrained_ok',
  'restricted_satellite_ok',
);

/** String fields of `android.notification`, and fields that are lists of strings. */
const ANDROID_TEXTS = [
  'title',
  'body',
  'icon',
  'color',
  'sound',
  'tag',
  'click_action',
  'body_loc_key',
  'title_loc_key',
  'channel_id',
  'ticker',
  'image',
] as const;
const ANDROID_LISTS = ['body_loc_args', 'title_loc_args'] as const;

/** What is wrong with a request, apart from its access token. Sources: push protocol, §5.3 and §8.2. */
export function fcmFault(request: JsonObject): FcmMessageFault | undefined {
  const { message } = request;
  if (!isJsonObject(message)) return fault('message', 'is missing');
  const { notification = {}, android = {} } = message;
  if (!isJsonObject(notification)) return fault('message.notification', 'is not an object');
  if (!isJsonObject(android)) return fault('message.android', 'is not an object');
  return (
    unknownName(request, '', REQUEST_NAMES) ??
    unknownName(message, 'message', MESSAGE_NAMES) ??
    unknownName(notification, 'message.notification', NOTIFICATION_NAMES) ??
    unknownName(android, 'message.android', ANDROID_NAMES) ??
    targetFault(message) ??
    notTexts(notification, 'message.notification', ['title', 'body', 'image']) ??
    dataFault(message['data'], 'message.data') ??
    androidFault(android) ??
    sizeFault(message, android)
  );
}

function targetFault(message: JsonObject): FcmMessageFault | undefined {
  const [target, ...more] = TARGETS.filter((name) => isGiven(message[name]));
  if (target === undefined) return fault('message', 'names no recipient');
  if (more.length > 0) return fault('message', 'names more than one recipient');
  const value = message[target];
  return typeof value === 'string' && value !== ''
    ? undefined
    : fault(`message.${target}`, 'is not a string');
}

function androidFault(android: JsonObject): FcmMessageFault | undefined {
  const { ttl, priority, notification = {} } = android;
  if (isGiven(ttl) && !isDuration(ttl)) {
    return fault('message.android.ttl', `is not a duration of at most ${TTL_SECONDS_MAX}s`);
  }
  if (isGiven(priority) && priority !== 'NORMAL' && priority !== 'HIGH') {
    return fault('message.android.priority', 'is neither NORMAL nor HIGH');
  }
  if (!isJsonObject(notification)) return fault('message.android.notification', 'is not an object');
  const list = ANDROID_LISTS.find((name) => {
    const value = notification[name];
    return isGiven(value) && !(Array.isArray(value) && value.every(isText));
  });
  if (list !== undefined)
    return fault(`message.android.notification.${list}`, 'is not a list of strings');
  return (
    notTexts(android, 'message.android', ['collapse_key', 'restricted_package_name']) ??
    notTexts(notification, 'message.android.notification', ANDROID_TEXTS) ??
    dataFault(android['data'], 'message.android.data')
  );
}

function isDuration(value: unknown): boolean {
  const [, seconds] = /^(\d+(?:\.\d{1,9})?)s$/.exec(isText(value) ? value : '') ?? [];
  return Number(seconds) <= TTL_SECONDS_MAX;
}

function dataFault(data: unknown, at: string): FcmMessageFault | undefined {
  if (!isGiven(data)) return undefined;
  if (!isJsonObject(data)) return fault(at, 'is not an object');
  for (const [key, value] of Object.entries(data)) {
    if (!isText(value)) return fault(`${at}[${key}]`, 'is not a string');
    if (isReserved(key)) return fault(`${at}[${key}]`, 'is a reserved key');
  }
  return undefined;
}

function isReserved(key: string): boolean {
  return /^(?:from|message_type|gcm|gcm\..*|google.*)$/s.test(key);
}

/** Keys and values that reach an Android device count towards the size. */
function sizeFault(message: JsonObject, android: JsonObject): FcmMessageFault | undefined {
  const counted = [
    message['notification'],
    android['notification'],
    isGiven(android['data']) ? android['data'] : message['data'],
  ];
  const bytes = counted
    .filter(isJsonObject)
    .flatMap((fields) => Object.entries(fields))
    .reduce((sum, [key, value]) => sum + bytesOf(key) + bytesOf(value), 0);
  return bytes <= MESSAGE_BYTES_MAX ? undefined : fault('', `Message too big: ${bytes} bytes`);
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(isText(value) ? value : JSON.stringify(value));
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function notTexts(
  fields: JsonObject,
  at: string,
  list: readonly string[],
): FcmMessageFault | undefined {
  const name = list.find((one) => isGiven(fields[one]) && !isText(fields[one]));
  return name === undefined ? undefined : fault(`${at}.${name}`, 'is not a string');
}

function unknownName(
  fields: JsonObject,
  at: string,
  known: ReadonlySet<string>,
): FcmMessageFault | undefined {
  const name = Object.keys(fields).find((one) => !known.has(one));
  return name === undefined ? undefined : fault(at, `Unknown name "${name}"`);
}

function names(...snake: readonly string[]): ReadonlySet<string> {
  const camel = snake.map((name) =>
    name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
  );
  return new Set([...snake, ...camel]);
}

function fault(field: string, description: string): FcmMessageFault {
  return { field, description };
}

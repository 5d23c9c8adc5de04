import { type JsonObject, withoutNulls } from '../../runtime/json-object.ts';
import type { FieldFault } from '../refusal.ts';
import {
  dataWithout,
  type FieldRule,
  type FieldRules,
  findFault,
  flag,
  flagIn,
  isPusherKey,
  numberIn,
  object,
  objectIn,
  oneOf,
  TIME_TO_LIVE_SECONDS_MAX,
  text,
  textIn,
  timeToLive,
  wholeNumber,
} from './field-rules.ts';

/** How soon a push service should wake a device for a message. Source: RFC 8030, 5.3. */
export const urgencies = ['very-low', 'low', 'normal', 'high'] as const;

export type Urgency = (typeof urgencies)[number];

/** A checked payload for browsers. Source: push protocol, §5.1. */
export interface WebPayload {
  /** How long the push service keeps the message for a browser that is offline. */
  readonly timeToLiveSeconds: number;
  /** If absent, the site's own code must show something. */
  readonly notification: JsonObject | undefined;
  readonly data: JsonObject | undefined;
  readonly urgency: Urgency;
  /** A message that waits with the same topic is replaced by this one. */
  readonly topic: string | undefined;
  /** The number on the icon of the web app; 0 removes it. */
  readonly appBadge: number | undefined;
  /** Whether Safari gets a form that it can show without a service worker; `undefined`: as the instance is set. */
  readonly declarative: boolean | undefined;
}

/** Source: RFC 8030, 5.4. Apple decodes the topic, and base64 has no text of 1, 5, 9 and so on characters. */
const topic: FieldRule = (value) =>
  typeof value === 'string' && /^[\w-]{1,32}$/.test(value) && value.length % 4 !== 1
    ? undefined
    : 'must be 2 to 32 of the letters A to Z and a to z, digits, - and _, but not 5, 9, 13, 17, 21, 25 or 29 of them: Apple decodes it as base64';

const payloadRules: FieldRules = [
  ['time_to_live', timeToLive],
  ['notification', object],
  ['data', dataWithout(isPusherKey)],
  ['urgency', oneOf(...urgencies)],
  ['topic', topic],
  ['app_badge', wholeNumber(0, Number.MAX_SAFE_INTEGER)],
  ['declarative', flag],
];

/** The fields of `web` that are read. */
export const webFields: readonly string[] = payloadRules.map(([name]) => name);

const notificationRules: FieldRules = [
  ['title', text],
  ['body', text],
  ['icon', text],
  ['deep_link', text],
  ['hide_notification_if_site_has_focus', flag],
];

/** Reads the field `web` of a publish. */
export function readWebPayload(payload: JsonObject): WebPayload | FieldFault {
  const fault = findFault(payload, payloadRules, 'web');
  if (fault !== undefined) return fault;
  const notification = objectIn(payload, 'notification');
  const inside = notification && findFault(notification, notificationRules, 'web.notification');
  if (inside !== undefined) return inside;
  return {
    timeToLiveSeconds: numberIn(payload, 'time_to_live') ?? TIME_TO_LIVE_SECONDS_MAX,
    // A browser would read a null icon as the address "null".
    notification: notification && withoutNulls(notification),
    data: objectIn(payload, 'data'),
    urgency: urgencies.find((one) => one === payload['urgency']) ?? 'normal',
    topic: textIn(payload, 'topic'),
    appBadge: numberIn(payload, 'app_badge'),
    declarative: flagIn(payload, 'declarative'),
  };
}

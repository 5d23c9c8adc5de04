import { type JsonObject, withoutNulls } from '../../runtime/json-object.ts';
import type { FieldFault } from '../refusal.ts';
import {
  dataWithout,
  type FieldRules,
  findFault,
  flag,
  isPusherKey,
  numberIn,
  object,
  objectIn,
  TIME_TO_LIVE_SECONDS_MAX,
  text,
  timeToLive,
} from './field-rules.ts';

/** A checked payload for browsers. Source: push protocol, §5.1. */
export interface WebPayload {
  /** How long the push service keeps the message for a browser that is offline. */
  readonly timeToLiveSeconds: number;
  /** If absent, the site's own code must show something. */
  readonly notification: JsonObject | undefined;
  readonly data: JsonObject | undefined;
}

const payloadRules: FieldRules = [
  ['time_to_live', timeToLive],
  ['notification', object],
  ['data', dataWithout(isPusherKey)],
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
  };
}

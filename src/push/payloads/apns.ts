import { isGiven, isJsonObject, type JsonObject, withoutNulls } from '../../runtime/json-object.ts';
import { FieldFault } from '../refusal.ts';
import {
  dataWithout,
  type FieldRule,
  type FieldRules,
  findFault,
  flag,
  isEmptyArray,
  isPusherKey,
  numberIn,
  object,
  objectIn,
  oneOf,
  text,
  textIn,
  textOrObject,
  texts,
  wholeNumber,
} from './field-rules.ts';

/** A checked payload for Apple's devices. Source: push protocol, §5.2. */
export interface ApnsPayload {
  /** As published, without `content-available`. */
  readonly aps: JsonObject;
  /** Whether the customer wants to wake up the app. */
  readonly contentAvailable: boolean;
  readonly data: JsonObject | undefined;
  /** Whether devices report the delivery. */
  readonly tracked: boolean;
  readonly collapseId: string | undefined;
  /** Unix time; 0: deliver at once or never. */
  readonly expirationSeconds: number | undefined;
  readonly priority: 5 | 10 | undefined;
}

/** Sent as a header; this is the maximum length. Source: push protocol, §5.2. */
const COLLAPSE_ID = /^[\x21-\x7e](?:[\x20-\x7e]{0,62}[\x21-\x7e])?$/;

const collapseId: FieldRule = (value) =>
  typeof value === 'string' && COLLAPSE_ID.test(value)
    ? undefined
    : 'must be a string of 1 to 64 printable ASCII characters, with no space at its ends';

const payloadRules: FieldRules = [
  ['aps', object],
  ['data', dataWithout(isPusherKey)],
  ['collapse_id', collapseId],
  ['expiration', wholeNumber(0, Number.MAX_SAFE_INTEGER)],
  ['priority', oneOf(5, 10)],
  ['pusher', object],
];

const pusherRules: FieldRules = [['disable_delivery_tracking', flag]];

const apsRules: FieldRules = [
  ['alert', textOrObject],
  ['badge', wholeNumber(0, Number.MAX_SAFE_INTEGER)],
  // An object is a critical alert's sound.
  ['sound', textOrObject],
  // Libraries disagree on its type. Apple gets a number.
  ['content-available', oneOf(1, 0, '1', '0', true, false)],
  ['category', text],
  ['thread-id', text],
];

/** Fields of `aps` that may be an object. */
const OBJECTS_OF_APS: readonly string[] = ['alert', 'sound'];

const alertRules: FieldRules = [
  ['title', text],
  ['body', text],
  ['title-loc-key', text],
  ['title-loc-args', texts],
  ['action-loc-key', text],
  ['loc-key', text],
  ['loc-args', texts],
  ['launch-image', text],
];

/** The fields of `apns` that are read. Those of `aps` may be directly in it. */
export const apnsFields: readonly string[] = [...payloadRules, ...apsRules].map(([name]) => name);

/** Reads the field `apns` of a publish. */
export function readApnsPayload(payload: JsonObject): ApnsPayload | FieldFault {
  const given = findApsFields(payload);
  if (given === undefined) return new FieldFault('apns.aps', 'aps is required');
  const pusher = objectIn(payload, 'pusher');
  const fault =
    findFault(payload, payloadRules, 'apns') ??
    (pusher && findFault(pusher, pusherRules, 'apns.pusher')) ??
    findApsFault(given.fields, given.at);
  if (fault !== undefined) return fault;
  const { 'content-available': contentAvailable, ...aps } = withoutEmpty(given.fields);
  const priority = numberIn(payload, 'priority');
  return {
    aps,
    contentAvailable: Number(contentAvailable) === 1,
    data: objectIn(payload, 'data'),
    tracked: pusher?.['disable_delivery_tracking'] !== true,
    collapseId: textIn(payload, 'collapse_id'),
    expirationSeconds: numberIn(payload, 'expiration'),
    priority: priority === 5 || priority === 10 ? priority : undefined,
  };
}

interface ApsFields {
  readonly at: string;
  readonly fields: JsonObject;
}

/** The fields of `aps`. They may be directly in `apns`, as in examples of the documentation. */
function findApsFields(payload: JsonObject): ApsFields | undefined {
  const { aps } = payload;
  // Its rule refuses anything but an object.
  if (isGiven(aps) && !isEmptyArray(aps))
    return { at: 'apns.aps', fields: isJsonObject(aps) ? aps : {} };
  if (!isGiven(payload['alert']) || isEmptyArray(payload['alert'])) return undefined;
  const names = apsRules.map(([name]) => name).filter((name) => Object.hasOwn(payload, name));
  return { at: 'apns', fields: Object.fromEntries(names.map((name) => [name, payload[name]])) };
}

/** Drops nulls, and `[]` where it stands for an empty object. */
function withoutEmpty(fields: JsonObject): JsonObject {
  const isDropped = (name: string) => OBJECTS_OF_APS.includes(name) && isEmptyArray(fields[name]);
  const kept = Object.entries(fields).filter(([name]) => !isDropped(name));
  return withoutNulls(Object.fromEntries(kept));
}

function findApsFault(aps: JsonObject, at: string): FieldFault | undefined {
  const alert = objectIn(aps, 'alert');
  return findFault(aps, apsRules, at) ?? (alert && findFault(alert, alertRules, `${at}.alert`));
}

import { isGiven, isJsonObject, type JsonObject, withoutNulls } from '../../runtime/json-object.ts';
import {
  type ApnsPriority,
  type ApnsPushType,
  isFurther,
  isShown,
  kindFor,
  pushTypeNames,
  pushTypes,
} from '../model/apns-push-types.ts';
import type { TokenKind } from '../model/token-kind.ts';
import { FieldFault } from '../refusal.ts';
import { activityAlertRules, findActivityFault, withObjects } from './apns-activity.ts';
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
  readonly priority: ApnsPriority | undefined;
  /** `undefined`: alert or background, by what `aps` has. */
  readonly pushType?: ApnsPushType | undefined;
  /** The kind of the tokens that it is for; `undefined`: ordinary ones. */
  readonly kind?: TokenKind | undefined;
  /** Keys of the message beside `aps` and `data`. */
  readonly moreKeys?: JsonObject | undefined;
}

/** Sent as a header; this is the maximum length. Source: push protocol, §5.2. */
const COLLAPSE_ID = /^[\x21-\x7e](?:[\x20-\x7e]{0,62}[\x21-\x7e])?$/;

const collapseId: FieldRule = (value) =>
  typeof value === 'string' && COLLAPSE_ID.test(value)
    ? undefined
    : 'must be a string of 1 to 64 printable ASCII characters, with no space at its ends';

const payloadRules: FieldRules = [
  ['push_type', oneOf(...pushTypeNames)],
  ['aps', object],
  ['data', dataWithout(isPusherKey)],
  ['payload', dataWithout((key) => key === 'aps' || key === 'data')],
  ['collapse_id', collapseId],
  ['expiration', wholeNumber(0, Number.MAX_SAFE_INTEGER)],
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
export const apnsFields: readonly string[] = [
  ...[...payloadRules, ...apsRules].map(([name]) => name),
  'priority',
];

/** Reads the field `apns` of a publish. */
export function readApnsPayload(payload: JsonObject): ApnsPayload | FieldFault {
  const type = pushTypeNames.find((name) => name === payload['push_type']);
  const isApsOptional = type !== undefined && pushTypes[type].isApsOptional;
  const given = findApsFields(payload) ?? (isApsOptional ? NO_APS : undefined);
  if (given === undefined) return new FieldFault('apns.aps', 'aps is required');
  const pusher = objectIn(payload, 'pusher');
  const fault =
    findFault(payload, payloadRules, 'apns') ??
    findFault(payload, [['priority', priorityRule(type)]], 'apns') ??
    (pusher && findFault(pusher, pusherRules, 'apns.pusher')) ??
    findApsFault(given, type);
  if (fault !== undefined) return fault;
  const { 'content-available': contentAvailable, ...aps } = withoutEmpty(given.fields);
  const wrongType = findTypeFault(type, aps);
  if (wrongType !== undefined) return wrongType;
  const rules = type && pushTypes[type];
  return {
    aps: type === 'liveactivity' ? withObjects(aps) : aps,
    contentAvailable: Number(contentAvailable) === 1,
    data: objectIn(payload, 'data'),
    tracked: !isFurther(type) && pusher?.['disable_delivery_tracking'] !== true,
    collapseId: textIn(payload, 'collapse_id'),
    expirationSeconds: numberIn(payload, 'expiration') ?? rules?.expirationSeconds,
    priority: priorities.find((one) => one === payload['priority']) ?? rules?.priority,
    pushType: type,
    kind: kindFor(type, aps['event']),
    moreKeys: objectIn(payload, 'payload'),
  };
}

const priorities: readonly ApnsPriority[] = [10, 5, 1];

function priorityRule(type: ApnsPushType | undefined): FieldRule {
  if (type === undefined) return oneOf(5, 10);
  const allowed: readonly ApnsPriority[] = pushTypes[type].priorities;
  const why = `must be ${allowed.join(' or ')} for ${type}`;
  return (value) => (allowed.some((priority) => priority === value) ? undefined : why);
}

/** Apple refuses an alert without anything to show, and a background notification with it. */
function findTypeFault(type: ApnsPushType | undefined, aps: JsonObject): FieldFault | undefined {
  if (type === 'alert' && !isShown(aps)) {
    return new FieldFault('apns.push_type', 'must be background without alert, badge and sound');
  }
  if (type === 'background' && isShown(aps)) {
    return new FieldFault('apns.push_type', 'must be alert with alert, badge or sound');
  }
  return type === 'liveactivity' ? findActivityFault(aps) : undefined;
}

interface ApsFields {
  readonly at: string;
  readonly fields: JsonObject;
}

const NO_APS: ApsFields = { at: 'apns.aps', fields: {} };

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

function findApsFault(
  { fields, at }: ApsFields,
  type: ApnsPushType | undefined,
): FieldFault | undefined {
  const alert = objectIn(fields, 'alert');
  const rules = type === 'liveactivity' ? activityAlertRules : alertRules;
  return findFault(fields, apsRules, at) ?? (alert && findFault(alert, rules, `${at}.alert`));
}

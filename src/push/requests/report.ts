import { isGiven, type JsonObject } from '../../runtime/json-object.ts';
import { platforms } from '../model/device.ts';
import { readDeviceId } from '../model/device-id.ts';
import type { PublishId, Report } from '../model/publish.ts';
import { readPublishId } from '../model/publish-id.ts';
import { whyNotStorable } from '../model/storable-text.ts';
import { readUserId } from '../model/user-id.ts';
import type { PushRefusal } from '../refusal.ts';
import { FieldFault, refuseField } from '../refusal.ts';

/** In characters. This server's own ids have fewer than 50. */
const ID_LENGTH_MAX = 200;

/** The end of the year 9999: RFC 3339 has no later time. */
const TIMESTAMP_SECONDS_MAX = 253_402_300_799;

/**
 * Reads a device's report about a notification. Checks the fields in the order of the specification. `null` counts as
 * absent. Source: push protocol, §3.8.
 */
export function readReport(body: JsonObject): Report | PushRefusal {
  const event = readEvent(body['event']);
  if (event instanceof FieldFault) return refuse(event);
  const publishId = readId(body, 'publishId');
  if (publishId instanceof FieldFault) return refuse(publishId);
  const deviceId = readId(body, 'deviceId');
  if (deviceId instanceof FieldFault) return refuse(deviceId);
  const timestampSeconds = readTimestamp(body['timestampSecs']);
  if (timestampSeconds instanceof FieldFault) return refuse(timestampSeconds);
  const user = readUser(body['userId']);
  if (user instanceof FieldFault) return refuse(user);
  const flags = readFlags(event, body);
  if (flags instanceof FieldFault) return refuse(flags);
  return {
    event,
    publishId: asPublishId(publishId),
    deviceId: asDeviceId(deviceId),
    userId: user.id,
    timestampSeconds,
    ...flags,
  };
}

function refuse(fault: FieldFault): PushRefusal {
  return refuseField('bad-request', fault);
}

/** Reads the event in upper or lower case: the mobile SDKs write it with a capital letter. */
function readEvent(value: unknown): Report['event'] | FieldFault {
  if (!isGiven(value)) return new FieldFault('event', 'event is required');
  const event = typeof value === 'string' ? value.toLowerCase() : undefined;
  return event === 'delivery' || event === 'open'
    ? event
    : new FieldFault('event', 'must be delivery or open');
}

function readId(body: JsonObject, field: 'publishId' | 'deviceId'): string | FieldFault {
  const value = body[field];
  if (!isGiven(value)) return new FieldFault(field, `${field} is required`);
  const isRight =
    typeof value === 'string' &&
    value.length >= 1 &&
    value.length <= ID_LENGTH_MAX &&
    whyNotStorable(value) === undefined;
  return isRight
    ? value
    : new FieldFault(field, `must be a string of 1 to ${ID_LENGTH_MAX} characters`);
}

/**
 * A text that is no publish id counts as the id of an unknown publish: the report is accepted, and dropped when its
 * publish is not found. Only here does an unchecked text become a `PublishId`.
 */
function asPublishId(text: string): PublishId {
  return readPublishId(text) ?? (text as PublishId);
}

/** Normalises a device id; other texts stay as they are. */
function asDeviceId(text: string): string {
  for (const platform of platforms) {
    const id = readDeviceId(text, platform);
    if (id !== undefined) return id;
  }
  return text;
}

function readTimestamp(value: unknown): number | FieldFault {
  if (!isGiven(value)) return new FieldFault('timestampSecs', 'timestampSecs is required');
  const isRight =
    typeof value === 'number' &&
    Number.isInteger(value) &&
    value >= 0 &&
    value <= TIMESTAMP_SECONDS_MAX;
  return isRight
    ? value
    : new FieldFault(
        'timestampSecs',
        `must be a whole number of seconds from 0 to ${TIMESTAMP_SECONDS_MAX}`,
      );
}

function readUser(value: unknown): { readonly id: string | undefined } | FieldFault {
  if (!isGiven(value)) return { id: undefined };
  const user = readUserId(value);
  return user.ok ? { id: user.userId } : new FieldFault('userId', `the user id ${user.why}`);
}

type Flags = Pick<Report, 'appInBackground' | 'hasDisplayableContent' | 'hasData'>;

/** Ignored for an open. */
function readFlags(event: Report['event'], body: JsonObject): Flags | FieldFault {
  const { appInBackground, hasDisplayableContent, hasData } =
    event === 'delivery' ? body : ({} as JsonObject);
  if (!isFlag(appInBackground)) return notFlag('appInBackground');
  if (!isFlag(hasDisplayableContent)) return notFlag('hasDisplayableContent');
  if (!isFlag(hasData)) return notFlag('hasData');
  return {
    appInBackground: appInBackground ?? undefined,
    hasDisplayableContent: hasDisplayableContent ?? undefined,
    hasData: hasData ?? undefined,
  };
}

function isFlag(value: unknown): value is boolean | null | undefined {
  return !isGiven(value) || typeof value === 'boolean';
}

function notFlag(field: keyof Flags): FieldFault {
  return new FieldFault(field, 'must be true or false');
}

import { isObject, type JsonObject as Json } from '../../parts/json/json.ts';
import { textOf, withPlatform } from './draft.ts';

/** What a publish may be for an Apple device. The first is what most apps send, and needs no field. */
export const pushTypes = [
  'alert',
  'background',
  'liveactivity',
  'voip',
  'widgets',
  'controls',
  'complication',
  'location',
  'fileprovider',
  'pushtotalk',
] as const;

export function pushTypeOf(body: Json): string {
  const type = apnsOf(body)['push_type'];
  return typeof type === 'string' ? type : 'alert';
}

/** The body with another push type, and with what that needs in place of what the former had. */
export function withPushType(body: Json, type: string): Json {
  if (type === 'alert') {
    const { apns: _, ...others } = body;
    return withPlatform(others, 'apns', true);
  }
  const aps =
    type === 'liveactivity'
      ? { aps: { event: 'update', 'content-state': {} } }
      : type === 'background' && { aps: {} };
  return { ...body, apns: { push_type: type, ...aps } };
}

/** A field of `apns`, or of its `aps`, as text. An object reads as its JSON. */
export function apnsTextOf(body: Json, name: string, isInAps: boolean): string {
  const value = (isInAps ? apsOf(body) : apnsOf(body))[name];
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The body with such a field. An empty one leaves. */
export function withApnsField(body: Json, name: string, value: unknown, isInAps: boolean): Json {
  const apns = apnsOf(body);
  return {
    ...body,
    apns: isInAps
      ? { ...apns, aps: withField(apsOf(body), name, value) }
      : withField(apns, name, value),
  };
}

/** The body with another event of its live activity. One that starts has an alert, and says what it shows. */
export function withEvent(body: Json, event: string): Json {
  const { 'attributes-type': _, attributes: __, alert, ...aps } = apsOf(body);
  const texts = { title: textOf(body, 'title'), body: textOf(body, 'body') };
  const start = { 'attributes-type': '', attributes: {}, alert: alert ?? texts };
  return {
    ...body,
    apns: { ...apnsOf(body), aps: { ...aps, ...(event === 'start' && start), event } },
  };
}

function withField(fields: Json, name: string, value: unknown): Json {
  const { [name]: _, ...others } = fields;
  return value === '' ? others : { ...others, [name]: value };
}

function apnsOf({ apns }: Json): Json {
  return isObject(apns) ? apns : {};
}

function apsOf(body: Json): Json {
  const { aps } = apnsOf(body);
  return isObject(aps) ? aps : {};
}

import { isJsonObject, type JsonObject } from '../../runtime/json-object.ts';
import { isFurther } from '../model/apns-push-types.ts';
import type { Text } from '../model/texts.ts';
import type { ApnsPayload } from './apns.ts';
import type { FcmPayload } from './fcm.ts';
import type { Payloads } from './payloads.ts';
import type { WebPayload } from './web.ts';

/** Puts a text in place of what the notifications of a publish say. A platform that shows nothing stays as it is. */
export function withText({ apns, fcm, web }: Payloads, text: Text): Payloads {
  return {
    apns: apns && ofApns(apns, text),
    fcm: fcm && ofFcm(fcm, text),
    web: web && ofWeb(web, text),
  };
}

function ofApns(payload: ApnsPayload, text: Text): ApnsPayload {
  const { alert } = payload.aps;
  // What a live activity shows is from its state.
  if (isFurther(payload.pushType)) return payload;
  if (typeof alert !== 'string' && !isJsonObject(alert)) return payload;
  return { ...payload, aps: { ...payload.aps, alert: alertWith(alert, text) } };
}

/** A text for the key of the app would be shown first, so it goes with what it replaces. */
function alertWith(alert: string | JsonObject, { title, body }: Text): string | JsonObject {
  // An alert that is a text is the body.
  if (typeof alert === 'string')
    return title === undefined ? (body ?? alert) : { title, body: body ?? alert };
  const replaced = [
    ...(title === undefined ? [] : ['title-loc-key', 'title-loc-args']),
    ...(body === undefined ? [] : ['loc-key', 'loc-args']),
  ];
  return { ...without(alert, replaced), ...given({ title, body }) };
}

function ofFcm(payload: FcmPayload, { title, body }: Text): FcmPayload {
  if (!payload.isShown) return payload;
  const replaced = [
    ...(title === undefined ? [] : ['title', 'title_loc_key', 'title_loc_args']),
    ...(body === undefined ? [] : ['body', 'body_loc_key', 'body_loc_args']),
  ];
  return {
    ...payload,
    notification: { ...payload.notification, ...given({ title, body }) },
    androidNotification: without(payload.androidNotification, replaced),
  };
}

function ofWeb(payload: WebPayload, text: Text): WebPayload {
  const { notification } = payload;
  return notification === undefined
    ? payload
    : { ...payload, notification: { ...notification, ...given(text) } };
}

function given({ title, body }: Text): JsonObject {
  return { ...(title !== undefined && { title }), ...(body !== undefined && { body }) };
}

function without(fields: JsonObject, names: readonly string[]): JsonObject {
  return names.length === 0
    ? fields
    : Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
}

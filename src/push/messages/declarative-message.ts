import { isJsonObject, type JsonObject } from '../../runtime/json-object.ts';
import type { WebPayload } from '../payloads/web.ts';
import type { Tracking } from './tracking.ts';
import { webData, webMessage } from './web-message.ts';

/** Marks a message as declarative. Source: Push API, "Declarative push message". */
const DECLARATIVE = 8030;

/** What a click opens if the publish names nothing: the start page of the site. */
const START_PAGE = '/';

/**
 * Builds the JSON that Safari can show without a service worker. It has everything that `webMessage` has, so that a
 * service worker, and Safari before 18.4, read it as ever; only hiding the notification is not possible. Without a
 * notification, it is that message. Source: Push API, "Declarative push message".
 */
export function declarativeMessage(payload: WebPayload, tracking: Tracking): string {
  return messageWith(payload, tracking, targetOf(payload));
}

/**
 * The bytes of the message. It is measured without the address that buttons repeat, since the buttons of a publish of some
 * kilobytes could repeat a long one a thousand times.
 */
export function declarativeBytes(payload: WebPayload, tracking: Tracking): number {
  const repeats = actionsOf(payload)?.filter(hasNoLink).length ?? 0;
  const bytesOfEach = Buffer.byteLength(JSON.stringify(targetOf(payload))) - '""'.length;
  return Buffer.byteLength(messageWith(payload, tracking, '')) + repeats * bytesOfEach;
}

/** `repeated`: what buttons without an address of their own open. */
function messageWith(payload: WebPayload, tracking: Tracking, repeated: string): string {
  if (payload.notification === undefined) return webMessage(payload, tracking);
  const { hide_notification_if_site_has_focus: _, ...notification } = payload.notification;
  const data = webData(payload, tracking);
  const navigate = targetOf(payload);
  const { title = '' } = notification;
  const actions = actionsOf(payload)?.map((action) =>
    isJsonObject(action) ? { ...action, navigate: linkOf(action) ?? repeated } : action,
  );
  return JSON.stringify({
    web_push: DECLARATIVE,
    notification: { ...notification, title, navigate, ...(actions && { actions }), data },
    app_badge: payload.appBadge,
    // A service worker gets the message before it is shown.
    mutable: true,
    data,
  });
}

/** What a click on the notification opens. */
function targetOf({ notification }: WebPayload): string {
  return (notification && linkOf(notification)) ?? START_PAGE;
}

/** The published buttons. What is no button among them stays as it is. */
function actionsOf({ notification }: WebPayload): readonly unknown[] | undefined {
  const actions = notification?.['actions'];
  return Array.isArray(actions) ? actions : undefined;
}

function hasNoLink(action: unknown): boolean {
  return isJsonObject(action) && linkOf(action) === undefined;
}

function linkOf({ deep_link }: JsonObject): string | undefined {
  return typeof deep_link === 'string' && deep_link !== '' ? deep_link : undefined;
}

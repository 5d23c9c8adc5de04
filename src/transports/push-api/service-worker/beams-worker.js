/*
 * The service worker of web push, for sites that use the Beams SDK for the web. A site's own worker loads it:
 *
 *   importScripts('https://push.example.org/sdk/service-worker.js');
 *
 * It reads the database in which the SDK in the page keeps the device, and the messages that the server pushes, and it
 * sends reports to the server. Plain JavaScript for every browser with web push.
 *
 * The server wraps this text in a function with its own address as the parameter `endpoint`.
 */

/** Bounds how long a server that does not answer keeps the worker alive. */
const REPORT_MAX_MS = 10_000;

/** The API for the site's own code. */
self.PusherPushNotifications = {
  /** The server for reports. If empty: the server that this text came from. */
  endpointOverride: endpoint,
  /** A function that decides about each notification, called with `{payload, pushEvent, handleNotification, statePromise}`. */
  onNotificationReceived: null,
  reportEvent,
};

self.addEventListener('push', (pushEvent) => {
  const message = readMessage(pushEvent.data);
  const pusher = message?.data?.pusher;
  if (!pusher) return; // Not from Beams: for another part of the site's worker.

  const { pusher: _, ...data } = message.data;
  const payload = { ...message, data };
  const statePromise = readState(pusher);
  const handleNotification = (toShow) => showNotification(toShow, pusher);

  // A browser may stop the worker when no promise is pending, so it must wait for the report, too.
  pushEvent.waitUntil(report('delivery', statePromise));
  pushEvent.waitUntil(
    self.PusherPushNotifications.onNotificationReceived
      ? self.PusherPushNotifications.onNotificationReceived({
          payload,
          pushEvent,
          handleNotification,
          statePromise,
        })
      : handleNotification(payload),
  );
});

self.addEventListener('notificationclick', (clickEvent) => {
  const { notification } = clickEvent;
  const pusher = notification.data?.pusher;
  if (!pusher) return; // Shown by another part of the site's worker.

  notification.close();
  const deepLink = pusher.customerPayload?.notification?.deep_link;
  clickEvent.waitUntil(
    Promise.all([
      // First: browsers allow a new window only soon after the click.
      deepLink && goTo(deepLink),
      report('open', readState(pusher.pusherMetadata ?? {})),
    ]),
  );
});

/** The pushed JSON; `undefined` if it is not valid. */
function readMessage(pushed) {
  try {
    return pushed?.json();
  } catch {
    return undefined;
  }
}

/**
 * Shows a notification, unless it is to be hidden while a window of the site has the focus.
 *
 * A push without a `notification` is shown with the name of the site and replaces the previous one: browsers require
 * that each push shows something, and otherwise revoke the permission. A site that publishes only data sets
 * `onNotificationReceived` and decides itself.
 */
async function showNotification(payload, pusherMetadata) {
  const { notification } = payload;
  const hides = notification?.hide_notification_if_site_has_focus === true;
  if (hides && (await someWindow((window) => window.focused))) return;

  const data = { pusher: { customerPayload: payload, pusherMetadata } };
  if (notification) {
    const { title, body, icon } = notification;
    await self.registration.showNotification(title || '', { body: body || '', icon, data });
  } else {
    const tag = 'pusher-data-only';
    await self.registration.showNotification(self.location.host, { tag, silent: true, data });
  }
}

/** Focuses a window at the address, or opens a new one. */
async function goTo(deepLink) {
  // Normalised like the address of a window.
  const { href } = new URL(deepLink, self.location.href);
  const windows = await siteWindows();
  const existing = windows.find((window) => window.url === href);
  await (existing ? existing.focus() : self.clients.openWindow(href));
}

function siteWindows() {
  return self.clients.matchAll({ type: 'window', includeUncontrolled: true });
}

async function someWindow(fits) {
  return (await siteWindows()).some(fits);
}

/** The fields of a report; `undefined` for a notification that cannot be reported. */
async function readState({ instanceId, publishId, hasDisplayableContent, hasData }) {
  if (!instanceId || !publishId) return undefined;
  const [device, inForeground] = await Promise.all([
    readDevice(instanceId),
    someWindow((window) => window.visibilityState === 'visible'),
  ]);
  return {
    instanceId,
    publishId,
    // `null` if the site's data was cleared.
    deviceId: device?.device_id || null,
    userId: device?.user_id || null,
    appInBackground: !inForeground,
    hasDisplayableContent,
    hasData,
  };
}

/** Reads what the SDK in the page has stored about this device, if anything. */
async function readDevice(instanceId) {
  const opening = indexedDB.open(`beams-${instanceId}`);
  // The first to open the database must create the store: the SDK in the page fails on an empty database.
  opening.onupgradeneeded = () => {
    opening.result.createObjectStore('beams', { keyPath: 'instance_id' });
  };
  const database = await resultOf(opening);
  try {
    return await resultOf(database.transaction('beams').objectStore('beams').get(instanceId));
  } finally {
    database.close();
  }
}

function resultOf(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** Tries once to send a report. Never rejects, as the notification does not depend on it. */
async function report(eventType, statePromise) {
  try {
    const state = await statePromise;
    if (state) await self.PusherPushNotifications.reportEvent({ eventType, state });
  } catch (error) {
    warn(eventType, error);
  }
}

/** Reports a `delivery` or an `open` to the server. Never rejects. */
async function reportEvent({ eventType, state }) {
  const { instanceId, ...rest } = state;
  const server = (self.PusherPushNotifications.endpointOverride || endpoint).replace(/\/+$/, '');
  const instance = encodeURIComponent(instanceId);
  try {
    const answer = await fetch(`${server}/reporting_api/v2/instances/${instance}/events`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      credentials: 'omit',
      signal: AbortSignal.timeout(REPORT_MAX_MS),
      body: JSON.stringify({
        ...rest,
        event: eventType,
        timestampSecs: Math.floor(Date.now() / 1000),
      }),
    });
    if (!answer.ok) warn(eventType, `status ${answer.status}`);
  } catch (error) {
    warn(eventType, error);
  }
}

function warn(eventType, why) {
  console.warn(`The ${eventType} of a notification was not reported`, why);
}

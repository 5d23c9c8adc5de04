/*
 * The service worker of web push, for sites that use the Beams SDK for the web. A site's own worker loads it:
 *
 *   importScripts('https://push.example.org/sdk/service-worker.js');
 *
 * It shares with the SDK in the page the database that knows the device, and with the server the messages that
 * are pushed and the reports that are sent back. Plain JavaScript for every browser that has web push.
 *
 * The server puts this text into a function whose parameter `endpoint` is its own address.
 */

/** A server that does not answer must not keep the worker alive. Milliseconds. */
const REPORT_MAX_MS = 10_000;

/** What a site may set, and call. */
self.PusherPushNotifications = {
  /** Where reports go; anything empty means the server that this text came from. */
  endpointOverride: endpoint,
  /** Set it to decide about each notification: called with `{payload, pushEvent, handleNotification, statePromise}`. */
  onNotificationReceived: null,
  reportEvent,
};

self.addEventListener('push', (pushEvent) => {
  const message = readMessage(pushEvent.data);
  const pusher = message?.data?.pusher;
  if (!pusher) return; // Pushed by somebody else, for another part of the site's worker.

  const { pusher: _, ...data } = message.data;
  const payload = { ...message, data };
  const statePromise = readState(pusher);
  const handleNotification = (toShow) => showNotification(toShow, pusher);

  // A browser may stop the worker as soon as nothing is waited for: the report is, too.
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
      // First: a browser allows a new window only soon after the click.
      deepLink && goTo(deepLink),
      report('open', readState(pusher.pusherMetadata ?? {})),
    ]),
  );
});

/** The JSON that was pushed; `undefined` where it is none. */
function readMessage(pushed) {
  try {
    return pushed?.json();
  } catch {
    return undefined;
  }
}

/**
 * Shows what was published, unless it asks to be hidden while a window of the site has the focus.
 *
 * A push without a `notification` is shown too, by the name of the site, one in place of the last: browsers
 * allow pushes on the condition that each shows something, and take the permission away otherwise. A site that
 * publishes data alone sets `onNotificationReceived`, and decides by itself.
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

/** Shows the window that is at an address already, or else a new one. */
async function goTo(deepLink) {
  // As browsers write it in a window's address: complete, with the slash after a bare host.
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

/** What a report says of this device; `undefined` for a notification that nothing can be reported of. */
async function readState({ instanceId, publishId, hasDisplayableContent, hasData }) {
  if (!instanceId || !publishId) return undefined;
  const [device, inForeground] = await Promise.all([
    readDevice(instanceId),
    someWindow((window) => window.visibilityState === 'visible'),
  ]);
  return {
    instanceId,
    publishId,
    // `null` where the site's data was cleared; the notification came nevertheless.
    deviceId: device?.device_id || null,
    userId: device?.user_id || null,
    appInBackground: !inForeground,
    hasDisplayableContent,
    hasData,
  };
}

/** What the SDK in the page has written down of this device, if anything. */
async function readDevice(instanceId) {
  const opening = indexedDB.open(`beams-${instanceId}`);
  // Whoever opens it first must make it: the SDK in the page does not get past an empty database.
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

/** Reports once, as far as that is possible. Never rejects: a notification does not depend on it. */
async function report(eventType, statePromise) {
  try {
    const state = await statePromise;
    if (state) await self.PusherPushNotifications.reportEvent({ eventType, state });
  } catch (error) {
    warn(eventType, error);
  }
}

/** Tells the server of a `delivery` or an `open`. Never rejects. */
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

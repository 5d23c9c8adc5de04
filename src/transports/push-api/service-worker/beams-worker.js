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
const REQUEST_MAX_MS = 10_000;

/** Safari shows a declarative message when the worker is done. If the worker takes 10 s, it shows nothing at all. */
const DECLARED_MAX_MS = 4_000;

/** The API for the site's own code. */
self.PusherPushNotifications = {
  /** The server for reports. If empty: the server that this text came from. */
  endpointOverride: endpoint,
  /** A function that decides about each notification, called with `{payload, pushEvent, handleNotification, statePromise}`. */
  onNotificationReceived: null,
  reportEvent,
};

self.addEventListener('push', (pushEvent) => {
  const declared = readDeclared(pushEvent.notification);
  const message = declared ?? readMessage(pushEvent.data);
  const pusher = message?.data?.pusher;
  if (!pusher) return; // Not from Beams: for another part of the site's worker.

  const { pusher: _, ...data } = message.data;
  const payload = { ...message, data };
  const statePromise = readState(pusher);
  const handleNotification = (toShow) => showNotification(toShow, pusher, declared !== undefined);
  const waitFor = (promise) => {
    pushEvent.waitUntil(declared ? atMost(DECLARED_MAX_MS, promise) : promise);
  };

  // A browser may stop the worker when no promise is pending, so it must wait for the report, too.
  waitFor(report('delivery', statePromise));
  waitFor(sendPreferences(statePromise));
  // Safari sets that of a declarative message itself, and a call of ours would never settle.
  if (!declared) waitFor(setBadge(message.app_badge));
  waitFor(
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
  const deepLink = linkOfClick(pusher.customerPayload?.notification ?? {}, clickEvent.action);
  clickEvent.waitUntil(
    // An address that cannot be opened does not keep the report from being sent.
    Promise.allSettled([
      // First: browsers allow a new window only soon after the click.
      deepLink && goTo(deepLink),
      // Safari shows declarative messages as the server sent them, if this worker does not.
      report('open', readState(pusher.pusherMetadata ?? pusher)),
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
async function showNotification(payload, pusherMetadata, isDeclared) {
  const { notification } = payload;
  const hides = notification?.hide_notification_if_site_has_focus === true;
  if (hides && (await someWindow((window) => window.focused))) return;

  const data = { pusher: { customerPayload: payload, pusherMetadata } };
  if (notification) {
    const options = optionsOf(notification);
    await self.registration.showNotification(notification.title || '', {
      ...(isDeclared ? withTargets(options, notification) : options),
      data,
    });
  } else {
    const tag = 'pusher-data-only';
    await self.registration.showNotification(self.location.host, { tag, silent: true, data });
  }
}

const isText = (value) => typeof value === 'string';
const isFlag = (value) => typeof value === 'boolean';
const isCount = (value) => Number.isSafeInteger(value) && value >= 0;

/** The options of browsers that a publish may set, with what each must be: a wrong one makes browsers show nothing. */
const optionRules = {
  icon: isText,
  image: isText,
  badge: isText,
  tag: isText,
  lang: isText,
  dir: (value) => ['auto', 'ltr', 'rtl'].includes(value),
  renotify: isFlag,
  requireInteraction: isFlag,
  silent: isFlag,
  timestamp: isCount,
  vibrate: (value) => isCount(value) || (Array.isArray(value) && value.every(isCount)),
  actions: Array.isArray,
};

/** The options of a published notification. Leaves out what is malformed, and what browsers refuse together. */
function optionsOf(notification) {
  const given = Object.entries(optionRules).filter(([name, fits]) => fits(notification[name]));
  const options = Object.fromEntries(given.map(([name]) => [name, notification[name]]));
  if (!options.tag) delete options.renotify;
  if (options.silent) delete options.vibrate;
  if (options.actions) options.actions = buttonsOf(notification).map(buttonOf);
  return { body: notification.body || '', ...options };
}

/** The buttons that browsers take. */
function buttonsOf({ actions }) {
  return Array.isArray(actions)
    ? actions.filter((button) => isText(button?.action) && isText(button.title))
    : [];
}

function buttonOf({ action, title, icon }) {
  return { action, title, ...(isText(icon) && { icon }) };
}

/** The address that a click opens: that of the button, or else that of the notification. `action`: '' without a button. */
function linkOfClick(notification, action) {
  const button = action && buttonsOf(notification).find((one) => one.action === action);
  return [button, notification].map((one) => one?.deep_link).find((link) => link && isText(link));
}

/**
 * The message of a declarative push, which Safari reads itself; `undefined` if it is none. It has no data: what the server
 * sent is in the notification that Safari would show.
 */
function readDeclared(proposed) {
  if (!proposed?.data) return undefined;
  const { title, body, navigate } = proposed;
  const options = Object.keys(optionRules).map((name) => [name, proposed[name]]);
  const actions = [...(proposed.actions ?? [])].map((button) => ({
    ...buttonOf(button),
    deep_link: button.navigate,
  }));
  const notification = {
    title,
    body,
    deep_link: navigate,
    ...Object.fromEntries(options),
    actions,
  };
  return { notification, data: proposed.data };
}

/** Adds where Safari goes itself after a click: while it handles a declarative push, it refuses a notification without. */
function withTargets(options, notification) {
  const hrefOf = (link) => new URL(link ?? '/', self.location.href).href;
  const navigate = hrefOf(linkOfClick(notification, ''));
  const actions = options.actions?.map((button) => ({
    ...button,
    navigate: hrefOf(linkOfClick(notification, button.action)),
  }));
  return { ...options, navigate, ...(actions && { actions }) };
}

/** Sets the number on the icon of an installed web app, where the browser can. Never rejects. */
async function setBadge(count) {
  if (!isCount(count)) return;
  try {
    await (count === 0 ? navigator.clearAppBadge?.() : navigator.setAppBadge?.(count));
  } catch (error) {
    console.warn('The number on the icon was not set', error);
  }
}

/** Settles with a promise, or after a time without it. */
function atMost(ms, promise) {
  return Promise.race([promise, new Promise((resolve) => setTimeout(resolve, ms))]);
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
function readDevice(instanceId) {
  return withDevices(instanceId, 'readonly', (devices) => resultOf(devices.get(instanceId)));
}

/** Opens the database of the SDK for one transaction. */
function withDevices(instanceId, mode, use) {
  const database = `beams-${instanceId}`;
  return withStore({ database, store: 'beams', keyPath: 'instance_id', mode }, use);
}

async function withStore({ database: name, store, keyPath, mode }, use) {
  const opening = indexedDB.open(name);
  // The first to open the database must create the store: the SDK in the page fails on an empty database.
  opening.onupgradeneeded = () => {
    opening.result.createObjectStore(store, { keyPath });
  };
  const database = await resultOf(opening);
  try {
    return await use(database.transaction(store, mode).objectStore(store));
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
  const instance = encodeURIComponent(instanceId);
  try {
    const url = `${serverUrl()}/reporting_api/v2/instances/${instance}/events`;
    const answer = await fetchJson(url, 'POST', {
      ...rest,
      event: eventType,
      timestampSecs: Math.floor(Date.now() / 1000),
    });
    if (!answer.ok) warn(eventType, `status ${answer.status}`);
  } catch (error) {
    warn(eventType, error);
  }
}

/** The address of the server, without a slash at its end. */
function serverUrl() {
  return (self.PusherPushNotifications.endpointOverride || endpoint).replace(/\/+$/, '');
}

function fetchJson(url, method, body) {
  return fetch(url, {
    method,
    credentials: 'omit',
    signal: AbortSignal.timeout(REQUEST_MAX_MS),
    ...(body && { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }),
  });
}

function warn(eventType, why) {
  console.warn(`The ${eventType} of a notification was not reported`, why);
}

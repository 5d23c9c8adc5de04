import { type KeyObject, randomBytes } from 'node:crypto';
import type { BrowserContext, Page, Worker } from 'playwright-core';
import { newP256Pair } from '../../src/fake-gateways/p256.ts';
import type { Autopush } from '../../testing/browsers/autopush.ts';

/** A push subscription with the private key of the browser, which decrypts messages. */
export interface Subscription {
  readonly endpoint: string;
  /** The public key of the server, in URL-safe base64. */
  readonly applicationServerKey: string;
  readonly privateKey: KeyObject;
  /** The subscription that the page gets. */
  readonly keys: { readonly p256dh: string; readonly auth: string };
}

/** A shown notification, as the service worker sees it. */
export interface ShownNotification {
  readonly title: string;
  readonly body: string;
  readonly data: unknown;
  /** The options, as far as the browser keeps them. */
  readonly [option: string]: unknown;
}

const OPTIONS = [
  ...['title', 'body', 'data', 'icon', 'image', 'badge', 'tag', 'lang', 'dir', 'renotify'],
  ...['requireInteraction', 'silent', 'timestamp', 'vibrate'],
];

/**
 * Enables push for the pages of a browser: allows notifications, and makes subscriptions in this process, because
 * Chromium gets them from its vendor's servers. Returns the list of subscriptions, to which later ones are added.
 */
export async function allowPush(
  context: BrowserContext,
  autopush: Pick<Autopush, 'newEndpoint' | 'remove'>,
): Promise<readonly Subscription[]> {
  const subscriptions: Subscription[] = [];
  await context.grantPermissions(['notifications']);
  await context.exposeFunction('newSubscription', (applicationServerKey: string) => {
    const { privateKey, publicText: p256dh } = newP256Pair();
    const keys = { p256dh, auth: randomBytes(16).toString('base64url') };
    const endpoint = autopush.newEndpoint(applicationServerKey);
    subscriptions.push({ endpoint, applicationServerKey, privateKey, keys });
    return { endpoint, expirationTime: null, keys };
  });
  await context.exposeFunction('endSubscription', (endpoint: string) => autopush.remove(endpoint));
  await context.addInitScript(PUSH_MANAGER);
  return subscriptions;
}

/** Replaces the methods that need the vendor's servers. As in a browser, a subscription is kept until it is ended. */
const PUSH_MANAGER = `if (globalThis.PushManager) {
  const KEPT = 'push-subscription';
  const current = () => {
    const kept = JSON.parse(localStorage.getItem(KEPT));
    return kept && {
      ...kept,
      toJSON: () => kept,
      async unsubscribe() {
        const here = localStorage.getItem(KEPT) === JSON.stringify(kept);
        if (here) localStorage.removeItem(KEPT);
        if (here) await endSubscription(kept.endpoint);
        return here;
      },
    };
  };
  Object.assign(PushManager.prototype, {
    getSubscription: async () => current(),
    async subscribe({ userVisibleOnly, applicationServerKey }) {
      const key = new Uint8Array(applicationServerKey);
      if (userVisibleOnly !== true || key.length !== 65 || key[0] !== 4) {
        throw new DOMException('The options are wrong', 'InvalidAccessError');
      }
      if (current() === null) {
        const subscription = await newSubscription(key.toBase64({ alphabet: 'base64url', omitPadding: true }));
        localStorage.setItem(KEPT, JSON.stringify(subscription));
      }
      return current();
    },
  });
}`;

/** Passes a decrypted message to the service worker of a page, as the browser does. `path` is that of its scope. */
export async function deliverPush(page: Page, message: object, path = '/'): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const { promise: registrationId, resolve } = Promise.withResolvers<string>();
  const { origin } = new URL(page.url());
  session.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
    const ours = registrations.find(({ scopeURL }) => scopeURL === origin + path);
    if (ours !== undefined) resolve(ours.registrationId);
  });
  await session.send('ServiceWorker.enable');
  await session.send('ServiceWorker.deliverPushMessage', {
    origin,
    registrationId: await registrationId,
    data: JSON.stringify(message),
  });
  await session.detach();
}

/** Waits until the service worker of a page shows `count` notifications, and returns them, newest first. */
export async function shownNotifications(
  page: Page,
  many: number,
): Promise<readonly ShownNotification[]> {
  const shown = await page.waitForFunction(`(async () => {
    const registration = await navigator.serviceWorker.ready;
    const shown = await registration.getNotifications();
    return shown.length === ${many} && shown.map((one) => ({
      ...Object.fromEntries(${JSON.stringify(OPTIONS)}.map((name) => [name, one[name]])),
      actions: one.actions.map(({ action, title, icon }) => ({ action, title, icon })),
    }));
  })()`);
  return (await shown.jsonValue()) as readonly ShownNotification[];
}

/** Simulates a click on the only notification, or on a button of it. The browser does not let a script open a window. */
export async function clickNotification(page: Page, action = ''): Promise<void> {
  await workerOf(page).evaluate(`(async () => {
    const [notification] = await self.registration.getNotifications();
    const action = ${JSON.stringify(action)};
    const click = new NotificationEvent('notificationclick', { notification, action });
    // waitUntil() works only for events of the browser.
    Object.defineProperty(click, 'waitUntil', { value: () => undefined });
    self.dispatchEvent(click);
  })()`);
}

/**
 * Replaces the subscription of a page, as the browser does from time to time: the page finds the new one, and the worker
 * gets an event. Returns the new one when the worker is done.
 */
export async function replaceSubscription(
  page: Page,
  old: Subscription,
  autopush: Pick<Autopush, 'newEndpoint'>,
): Promise<{ readonly endpoint: string }> {
  const { applicationServerKey } = old;
  const { publicText: p256dh } = newP256Pair();
  const keys = { p256dh, auth: randomBytes(16).toString('base64url') };
  const endpoint = autopush.newEndpoint(applicationServerKey);
  const renewed = { endpoint, expirationTime: null, keys };
  await page.evaluate(
    `localStorage.setItem('push-subscription', ${JSON.stringify(JSON.stringify(renewed))})`,
  );
  await workerOf(page).evaluate(`(async () => {
    const applicationServerKey = Uint8Array.fromBase64(
      ${JSON.stringify(applicationServerKey)},
      { alphabet: 'base64url' },
    ).buffer;
    const change = new Event('pushsubscriptionchange');
    const waited = [];
    Object.assign(change, {
      oldSubscription: { endpoint: ${JSON.stringify(old.endpoint)}, options: { applicationServerKey } },
      newSubscription: ${JSON.stringify(renewed)},
      // waitUntil() works only for events of the browser.
      waitUntil: (promise) => waited.push(promise),
    });
    self.dispatchEvent(change);
    await Promise.all(waited);
  })()`);
  return renewed;
}

/** Passes a declarative message to the service worker of a page, as Safari does: with the notification that it would show. */
export async function deliverDeclared(page: Page, notification: object): Promise<void> {
  await workerOf(page).evaluate(`(async () => {
    const { title, ...options } = ${JSON.stringify(notification)};
    await self.registration.showNotification(title, options);
    const [proposed] = await self.registration.getNotifications();
    proposed.close();
    const push = new Event('push');
    const waited = [];
    Object.assign(push, {
      data: null,
      notification: proposed,
      waitUntil: (promise) => waited.push(promise),
    });
    self.dispatchEvent(push);
    await Promise.all(waited);
  })()`);
}

function workerOf(page: Page): Worker {
  const [worker] = page.context().serviceWorkers();
  if (worker === undefined) throw new Error('There is no service worker');
  return worker;
}

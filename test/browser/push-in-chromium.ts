import { type KeyObject, randomBytes } from 'node:crypto';
import type { BrowserContext, Page } from 'playwright-core';
import { newP256Pair } from '../../src/fake-gateways/p256.ts';
import type { Autopush } from '../../testing/browsers/autopush.ts';

/** A push subscription, with the private half that a browser keeps: who has it can decrypt what is pushed. */
export interface Subscription {
  readonly endpoint: string;
  /** The public key of the server that subscribed, URL-safe base64. */
  readonly applicationServerKey: string;
  readonly privateKey: KeyObject;
  /** What the page gets. */
  readonly keys: { readonly p256dh: string; readonly auth: string };
}

/** A notification that is shown, as the worker that showed it sees it. */
export interface ShownNotification {
  readonly title: string;
  readonly body: string;
  readonly data: unknown;
}

/**
 * Lets the pages of a browser use push: allows notifications, and makes subscriptions here, since Chromium itself
 * asks its vendor's servers for them. Gives the subscriptions, to which later ones are added.
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

/** In place of the methods that need the vendor's servers. A subscription is kept until it is ended, as a real one is. */
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

/** Gives the service worker of a page a message, as the browser does with what was pushed and decrypted. */
export async function deliverPush(page: Page, message: object): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const { promise: registrationId, resolve } = Promise.withResolvers<string>();
  const { origin } = new URL(page.url());
  session.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
    const ours = registrations.find(({ scopeURL }) => scopeURL === `${origin}/`);
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

/** Waits until the service worker of a page shows `count` notifications, and gives them, the newest first. */
export async function shownNotifications(
  page: Page,
  many: number,
): Promise<readonly ShownNotification[]> {
  const shown = await page.waitForFunction(`(async () => {
    const registration = await navigator.serviceWorker.ready;
    const shown = await registration.getNotifications();
    return shown.length === ${many} && shown.map(({ title, body, data }) => ({ title, body, data }));
  })()`);
  return (await shown.jsonValue()) as readonly ShownNotification[];
}

/** Clicks on the only notification, as far as a script can: the browser lets it open no window. */
export async function clickNotification(page: Page): Promise<void> {
  const [worker] = page.context().serviceWorkers();
  if (worker === undefined) throw new Error('There is no service worker');
  await worker.evaluate(`(async () => {
    const [notification] = await self.registration.getNotifications();
    const click = new NotificationEvent('notificationclick', { notification });
    // Only the browser's own events may be waited for.
    Object.defineProperty(click, 'waitUntil', { value: () => undefined });
    self.dispatchEvent(click);
  })()`);
}

import { afterAll, beforeAll, describe, expect, it, setDefaultTimeout } from 'bun:test';
import type { Page } from 'playwright-core';
import { declarativeMessage } from '../../src/push/messages/declarative-message.ts';
import type { PublishId } from '../../src/push/model/publish.ts';
import { readWebPayload } from '../../src/push/payloads/web.ts';
import { FieldFault } from '../../src/push/refusal.ts';
import { type Autopush, startAutopush } from '../../testing/browsers/autopush.ts';
import { type BeamsSite, startBeamsSite } from '../../testing/browsers/beams-page.ts';
import { eventually } from '../../testing/eventually.ts';
import { type PushServer, startPushServer } from '../../testing/servers/push-server.ts';
import { startWholeChromium } from './chromium.ts';
import {
  allowPush,
  clickNotification,
  deliverDeclared,
  deliverPush,
  replaceSubscription,
  type Subscription,
  shownNotifications,
} from './push-in-chromium.ts';
import { webSdkContract } from './web-sdk.contract.ts';

/** The official SDKs of Beams in Chromium. Only the push subscriptions are fakes of this test. */

setDefaultTimeout(180_000);

const parts = new AsyncDisposableStack();
let service: PushServer;
let site: BeamsSite;
let page: Page;
let autopush: Autopush;
let subscriptions: readonly Subscription[] = [];

beforeAll(async () => {
  service = parts.use(await startPushServer());
  site = parts.use(startBeamsSite(service));
  autopush = parts.use(await startAutopush());
  const browser = parts.use(
    await startWholeChromium(async (context) => {
      subscriptions = await allowPush(context, autopush);
    }),
  );
  ({ page } = await browser.open(site.url));
});

afterAll(async () => {
  await parts.disposeAsync();
});

webSdkContract('Chromium', () => ({ site, service }));

/** The next report of the service worker, with the answer to it. */
async function nextReport(): Promise<{ body: unknown; status: number }> {
  const answer = await page.context().waitForEvent('response', (response) => {
    return (
      response.request().method() === 'POST' && response.url().startsWith(`${service.url}/report`)
    );
  });
  return { body: answer.request().postDataJSON(), status: answer.status() };
}

/** The status of a publish. */
async function statusOf(publishId: string): Promise<unknown> {
  const { url, instance } = service;
  const answer = await fetch(
    `${url}/publish_api/v1/instances/${instance.id}/publishes/${publishId}`,
    { headers: { authorization: `Bearer ${instance.secretKey}` } },
  );
  return await answer.json();
}

/** Registers a new device of Ann with the interest `donuts`. */
async function newDevice(): Promise<string> {
  const id = await site.run(`
    await beams().clearAllState();
    await beams().addDeviceInterest('donuts');
    await beams().setUserId('ann', tokenProvider);
    return await beams().getDeviceId();`);
  return String(id);
}

/** Publishes to the device, and returns the message that it gets. */
async function publish(
  to: 'interests' | 'users',
  web: { readonly notification?: object; readonly data?: object; readonly app_badge?: number },
) {
  const { publishId } =
    to === 'interests'
      ? await site.library.publishToInterests(['donuts'], { web })
      : await site.library.publishToUsers(['ann'], { web });
  const pusher = {
    instanceId: service.instance.id,
    publishId,
    hasDisplayableContent: web.notification !== undefined,
    hasData: web.data !== undefined,
  };
  return { publishId, message: { ...web, data: { ...web.data, pusher } } };
}

describe('a push in Chromium', () => {
  it('is sent to a subscription that was made with the key of the instance', async () => {
    await newDevice();
    expect(subscriptions.at(-1)?.applicationServerKey).toBe(service.vapidPublicKey);
  });

  it('is shown by the service worker of this server, and reported as delivered and opened', async () => {
    const deviceId = await newDevice();
    const notification = { title: 'Hi!', body: 'Donuts are out.', icon: '/donut.png' };
    const { publishId, message } = await publish('interests', { notification, data: { order: 7 } });
    // The server takes no report before it has planned to whom it sends.
    const planned = await eventually(
      () => statusOf(publishId),
      (status) => Object(status).state !== 'planning',
    );
    expect(planned).toMatchObject({ delivered: 0, opened: 0 });

    const [delivery] = await Promise.all([nextReport(), deliverPush(page, message)]);

    const report = {
      publishId,
      deviceId,
      userId: 'ann',
      timestampSecs: expect.any(Number),
      appInBackground: false,
      hasDisplayableContent: true,
      hasData: true,
    };
    expect(delivery).toEqual({ status: 200, body: { ...report, event: 'delivery' } });
    expect(await statusOf(publishId)).toMatchObject({ delivered: 1, opened: 0 });
    expect(await shownNotifications(page, 1)).toMatchObject([
      {
        title: 'Hi!',
        body: 'Donuts are out.',
        data: {
          pusher: {
            customerPayload: { notification, data: { order: 7 } },
            pusherMetadata: message.data.pusher,
          },
        },
      },
    ]);

    const [open] = await Promise.all([nextReport(), clickNotification(page)]);

    expect(open).toEqual({ status: 200, body: { ...report, event: 'open' } });
    expect(await statusOf(publishId)).toMatchObject({ delivered: 1, opened: 1 });
    await shownNotifications(page, 0);
  });

  it('without a notification is shown with the name of the site', async () => {
    await newDevice();
    const { message } = await publish('users', { data: { order: 8 } });

    await Promise.all([nextReport(), deliverPush(page, message)]);

    const [shown] = await shownNotifications(page, 1);
    expect(shown).toMatchObject({ title: new URL(site.url).host, body: '' });
    await Promise.all([nextReport(), clickNotification(page)]);
    await shownNotifications(page, 0);
  });
});

describe('what a publish can say to Chromium beyond Beams', () => {
  const REPLY = { action: 'reply', title: 'Reply', icon: '/reply.png', deep_link: '/chat/7?reply' };

  it('is shown, and a click on a button is reported', async () => {
    await newDevice();
    const notification = {
      title: 'Ann',
      image: '/a.png',
      badge: '/badge.png',
      tag: 'chat-7',
      lang: 'de',
      dir: 'rtl',
      renotify: true,
      requireInteraction: true,
      timestamp: 1_700_000_000_000,
      vibrate: [200, 100, 200],
      deep_link: '/chat/7',
      actions: [REPLY, { action: 'mute', title: 'Mute' }],
    };
    const { message } = await publish('interests', { notification, app_badge: 3 });

    const [delivery] = await Promise.all([nextReport(), deliverPush(page, message)]);

    expect(delivery).toMatchObject({ status: 200, body: { event: 'delivery' } });
    const at = (path: string) => new URL(path, site.url).href;
    const { deep_link: _, actions: __, ...options } = notification;
    expect(await shownNotifications(page, 1)).toMatchObject([
      {
        ...options,
        image: at('/a.png'),
        badge: at('/badge.png'),
        actions: [
          { action: 'reply', title: 'Reply', icon: at('/reply.png') },
          { action: 'mute', title: 'Mute' },
        ],
      },
    ]);
    const [open] = await Promise.all([nextReport(), clickNotification(page, 'reply')]);
    expect(open).toMatchObject({ status: 200, body: { event: 'open' } });
    await shownNotifications(page, 0);
  });

  it('is shown without what the browser would refuse', async () => {
    await newDevice();
    const notification = {
      title: 'Ann',
      renotify: true,
      silent: true,
      vibrate: [200],
      dir: 'up',
      timestamp: 'now',
      actions: [null, { action: 'mute' }, REPLY],
    };
    const { message } = await publish('interests', { notification });
    await Promise.all([nextReport(), deliverPush(page, message)]);
    expect(await shownNotifications(page, 1)).toMatchObject([
      { title: 'Ann', silent: true, renotify: false, actions: [{ action: 'reply' }] },
    ]);
    await Promise.all([nextReport(), clickNotification(page)]);
    await shownNotifications(page, 0);
  });
});

describe('a declarative push, as Safari gives it to the worker', () => {
  it('is shown and reported as any other', async () => {
    await newDevice();
    const web = {
      notification: { title: 'Ann', body: 'hi', actions: [{ action: 'reply', title: 'Reply' }] },
      data: { order: 7 },
      declarative: true,
    };
    const { publishId } = await publish('interests', web);
    const payload = readWebPayload(web);
    if (payload instanceof FieldFault) throw new Error(payload.reason);
    const tracking = { instanceId: service.instance.id, publishId: publishId as PublishId };
    const { notification } = JSON.parse(declarativeMessage(payload, tracking));

    const [delivery] = await Promise.all([nextReport(), deliverDeclared(page, notification)]);

    expect(delivery).toMatchObject({ status: 200, body: { event: 'delivery', publishId } });
    expect(await shownNotifications(page, 1)).toMatchObject([
      {
        title: 'Ann',
        body: 'hi',
        actions: [{ action: 'reply', title: 'Reply' }],
        data: { pusher: { customerPayload: { data: { order: 7 } } } },
      },
    ]);
    const [open] = await Promise.all([nextReport(), clickNotification(page, 'reply')]);
    expect(open).toMatchObject({ status: 200, body: { event: 'open', publishId } });
    await shownNotifications(page, 0);
  });
});

describe('a subscription that Chromium replaces', () => {
  it('belongs to the same device, which the SDK knows and the server sends to', async () => {
    const id = await newDevice();
    const old = subscriptions.at(-1);
    if (old === undefined) throw new Error('There is no subscription');

    const { endpoint } = await replaceSubscription(page, old, autopush);

    await site.reload();
    const known = await site.run(`
      await beams().start();
      return [await beams().getDeviceId(), (await beams().getDeviceInterests()).interests];`);
    expect(known).toEqual([id, ['donuts']]);
    // Messages of other tests go to earlier subscriptions.
    const { publishId } = await publish('users', { notification: { title: 'Hi' } });
    await autopush.pushed.first((message) => message.endpoint === endpoint);
    await eventually(
      () => statusOf(publishId),
      (status) => Object(status).state === 'finished',
    );
  });
});

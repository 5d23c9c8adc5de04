import { afterAll, beforeAll, describe, expect, it, setDefaultTimeout } from 'bun:test';
import type { Page } from 'playwright-core';
import { startAutopush } from '../../testing/browsers/autopush.ts';
import { type BeamsSite, startBeamsSite } from '../../testing/browsers/beams-page.ts';
import { eventually } from '../../testing/eventually.ts';
import { type PushServer, startPushServer } from '../../testing/servers/push-server.ts';
import { startWholeChromium } from './chromium.ts';
import {
  allowPush,
  clickNotification,
  deliverPush,
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
let subscriptions: readonly Subscription[] = [];

beforeAll(async () => {
  service = parts.use(await startPushServer());
  site = parts.use(startBeamsSite(service));
  const autopush = parts.use(await startAutopush());
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
  web: { readonly notification?: object; readonly data?: object },
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
    expect(await shownNotifications(page, 1)).toEqual([
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

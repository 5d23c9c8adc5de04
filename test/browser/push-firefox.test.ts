import { afterAll, beforeAll, describe, expect, it, setDefaultTimeout } from 'bun:test';
import { startAutopush } from '../../testing/browsers/autopush.ts';
import { type BeamsSite, startBeamsSite } from '../../testing/browsers/beams-page.ts';
import { FIREFOX_START_MAX_MS, startFirefox } from '../../testing/browsers/firefox.ts';
import { type PushServer, startPushServer } from '../../testing/servers/push-server.ts';
import { webSdkContract } from './web-sdk.contract.ts';

/** The official SDKs of Beams in Firefox, with a push service of this test. */

setDefaultTimeout(180_000);

const parts = new AsyncDisposableStack();
let service: PushServer;
let site: BeamsSite;

beforeAll(async () => {
  service = parts.use(await startPushServer());
  site = parts.use(startBeamsSite(service));
  const autopush = parts.use(await startAutopush());
  parts.use(await startFirefox([site.url], { autopush }));
  await site.opened;
  // Before its hello to the push service, Firefox does not answer a page that asks for its subscription.
  await autopush.waitForHello();
}, FIREFOX_START_MAX_MS);

afterAll(async () => {
  await parts.disposeAsync();
});

webSdkContract('Firefox', () => ({ site, service }));

/** The status of a publish. */
async function statusOf(publishId: string): Promise<{ delivered: number; state: string }> {
  const { url, instance } = service;
  const answer = await fetch(
    `${url}/publish_api/v1/instances/${instance.id}/publishes/${publishId}`,
    { headers: { authorization: `Bearer ${instance.secretKey}` } },
  );
  return (await answer.json()) as { delivered: number; state: string };
}

describe('a publish', () => {
  it('is encrypted, delivered, shown by Firefox and reported back', async () => {
    const deviceId = await site.run(`
      await beams().clearAllState();
      await beams().addDeviceInterest('donuts');
      return await beams().getDeviceId();`);
    expect(deviceId).toStartWith('web-');

    const { publishId } = await site.library.publishToInterests(['donuts'], {
      web: { notification: { title: 'Hi!', body: 'Donuts are out.' }, data: { order: 7 } },
    });

    const shown = await site.run(`
      const worker = await navigator.serviceWorker.ready;
      for (;;) {
        const [notification] = await worker.getNotifications();
        if (notification) return { title: notification.title, body: notification.body };
        await new Promise((resolve) => setTimeout(resolve, 20));
      }`);
    expect(shown).toEqual({ title: 'Hi!', body: 'Donuts are out.' });
    let status = await statusOf(publishId);
    while (status.delivered === 0 || status.state !== 'finished')
      status = await statusOf(publishId);
    expect(status).toMatchObject({
      state: 'finished',
      delivered: 1,
      opened: 0,
      platforms: { web: { planned: 1, accepted: 1, failed: 0, retrying: 0, pruned: 0 } },
      reasons: [],
    });
  });
});

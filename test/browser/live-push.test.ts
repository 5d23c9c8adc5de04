import { expect, it } from 'bun:test';
import type { Browser } from 'playwright-core';
import { APP } from '../../testing/servers/fanfare.ts';
import { startPush } from '../protocol/push/exchange.ts';
import { EVENT, planned, publishesLive, registers } from '../protocol/push/publishes/live-users.ts';
import { startChromium } from './chromium.ts';
import { pageWith } from './page.ts';
import { startSite } from './site.ts';

/** Who is reached in a page with the web build of pusher-js, in a browser. */

/** Reports that it is signed in. The lines about being away are those of docs/use/live-push.md. */
const SCRIPT = `
  const sendState = () => pusher.send_event('fanfare:away', { away: document.hidden });
  document.addEventListener('visibilitychange', sendState);
  pusher.connection.bind('connected', sendState);
  pusher.user.bind_global((event, data) => report(event, data));
  pusher.connection.bind('message', ({ event, channel }) => {
    if (event === 'pusher_internal:subscription_succeeded' && channel.startsWith('#')) report('signed in');
  });
  pusher.signin();`;

async function processesOfPages(browser: Browser | null): Promise<readonly number[]> {
  const session = await browser?.newBrowserCDPSession();
  const { processInfo = [] } = (await session?.send('SystemInfo.getProcessInfo')) ?? {};
  return processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => id);
}

it('reaches a page in front, and notifies users of pages that are hidden, busy or stopped', async () => {
  await using server = await startPush({ instance: { app: APP.id } });
  using site = startSite(server);
  await using browser = await startChromium();
  await registers(server, 'ann');
  const { page, reports } = await browser.open(
    pageWith(server, site, { user: 'ann', script: SCRIPT }),
  );
  expect(await reports.next()).toEqual(['signed in']);
  const publishes = async (waitSeconds: number) => {
    const { live, platforms } = await planned(
      server,
      await publishesLive(server, ['ann'], { live: { waitSeconds } }),
    );
    return { ...live, notified: platforms.fcm.planned };
  };

  expect(await publishes(60)).toMatchObject({ reached: 1, notified: 0 });
  expect(await reports.next()).toEqual([EVENT.event, EVENT.data]);

  // A browser without windows hides no page by itself.
  const show = (hidden: boolean) =>
    page.evaluate(`
      Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));
      new Promise((resolve) => {
        pusher.subscribe('after-${hidden}').bind('pusher:subscription_succeeded', resolve);
      });`);
  await show(true);
  expect(await publishes(60)).toMatchObject({ absent: 1, notified: 1 });
  await show(false);
  expect(await publishes(60)).toMatchObject({ reached: 1, notified: 0 });

  const busy = page.evaluate(
    "report('busy'); const until = performance.now() + 3_000; while (performance.now() < until);",
  );
  await reports.first(([what]) => what === 'busy');
  expect(await publishes(1)).toMatchObject({ silent: 1, notified: 1 });
  await busy;

  // The browser itself continues, and answers the ping of the WebSocket.
  const pages = await processesOfPages(page.context().browser());
  for (const id of pages) process.kill(id, 'SIGSTOP');
  expect(await publishes(1)).toMatchObject({ silent: 1, notified: 1 });
  for (const id of pages) process.kill(id, 'SIGCONT');
  expect(await publishes(60)).toMatchObject({ reached: 1, notified: 0 });
}, 60_000);

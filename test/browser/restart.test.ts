import { expect, it } from 'bun:test';
import { startFanfare } from '../../testing/servers/fanfare.ts';
import { restart } from '../../testing/servers/restart.ts';
import { startChromium } from './chromium.ts';
import { pageWith } from './page.ts';
import { startSite } from './site.ts';

/** As in test/compat/restart.test.ts. Milliseconds. */
const COMES_BACK_MAX_MS = 180_000;

it(
  'a page is back after a restart, in all its channels',
  async () => {
    await using before = await startFanfare();
    using site = startSite(before);
    await using browser = await startChromium();
    const channels = ['news', 'presence-room', 'private-orders'];
    const { reports } = await browser.open(
      pageWith(before, site, {
        user: 'ann',
        script: `${JSON.stringify(channels)}.forEach((name) => listen(name));`,
      }),
    );
    const subscribed = async () => {
      const names: unknown[] = [];
      while (names.length < channels.length) {
        const [name] = await reports.first(
          ([, event]) => event === 'pusher:subscription_succeeded',
        );
        names.push(name);
      }
      expect(names.toSorted()).toEqual(channels);
    };
    await subscribed();

    await using _after = await restart(before);
    await subscribed();

    for (const channel of channels) {
      await site.library.trigger(channel, 'event', 'after the restart');
      expect(await reports.next()).toEqual([channel, 'event', 'after the restart']);
    }
  },
  COMES_BACK_MAX_MS,
);

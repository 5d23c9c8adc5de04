import { expect, it } from 'bun:test';
import { startFanfare } from '../../testing/servers/fanfare.ts';
import { startChromium } from './chromium.ts';
import { pageWith } from './page.ts';
import { startSite } from './site.ts';

/** Users in pages with the web build of the official JavaScript client, in a browser. */

it('signs pages in, sends events to their users, reports who comes and goes, and closes their connections', async () => {
  await using server = await startFanfare({ app: { watchlists: true } });
  using site = startSite(server);
  await using browser = await startChromium();
  const script = `
    pusher.user.bind_global((event, data) => report('user', event, data));
    for (const event of ['online', 'offline']) {
      pusher.user.watchlist.bind(event, (data) => report('watchlist', data));
    }
    pusher.connection.bind('message', ({ event, channel }) => {
      if (event === 'pusher_internal:subscription_succeeded' && channel.startsWith('#')) report('signed in');
    });
    pusher.connection.bind('disconnected', () => report('disconnected'));
    pusher.signin();`;
  const watchlist = (user: string, status: 'online' | 'offline') => [
    'watchlist',
    { name: status, user_ids: [user] },
  ];

  const ann = await browser.open(
    pageWith(server, site, { user: 'ann', script, watchlist: ['bob'] }),
  );
  const first = [await ann.reports.next(), await ann.reports.next()];
  expect(first).toContainEqual(['signed in']);
  expect(first).toContainEqual(watchlist('bob', 'offline'));
  expect(await ann.page.evaluate('pusher.user.user_data')).toMatchObject({ id: 'ann' });

  const bob = await browser.open(pageWith(server, site, { user: 'bob', script }));
  expect(await bob.reports.next()).toEqual(['signed in']);
  expect(await ann.reports.next()).toEqual(watchlist('bob', 'online'));

  await site.library.sendToUser('bob', 'note', { text: 'Fanfare! 🎺' });
  expect(await bob.reports.next()).toEqual(['user', 'note', { text: 'Fanfare! 🎺' }]);

  // A page that is reloaded does not go offline.
  await bob.page.reload();
  expect(await bob.reports.first(([what]) => what === 'signed in')).toEqual(['signed in']);

  await site.library.terminateUserConnections('bob');
  expect(await bob.reports.next()).toEqual(['disconnected']);
  expect(await ann.reports.next()).toEqual(watchlist('bob', 'offline'));
  expect(await bob.page.evaluate('pusher.connection.state')).toBe('disconnected');
}, 180_000);

import { afterAll, beforeAll, describe, expect, it, setDefaultTimeout } from 'bun:test';
import { optionsFor } from '../../testing/clients/official-client.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { type Chromium, startChromium, type Tab } from './chromium.ts';
import { pageWith } from './page.ts';
import { type Site, startSite } from './site.ts';

/** The web build of the official JavaScript client in a browser. */

setDefaultTimeout(180_000);

let server: Fanfare;
let site: Site;
let browser: Chromium;

beforeAll(async () => {
  server = await startFanfare({ app: { clientEvents: true } });
  site = startSite(server);
  browser = await startChromium();
});

afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  site[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
});

/** A tab whose page is subscribed to one channel. */
async function tabIn(channel: string, user = 'ann', more = ''): Promise<Tab> {
  const build = channel.startsWith('private-encrypted-') ? 'pusher-with-encryption' : 'pusher';
  const script = `const channel = listen('${channel}'); ${more}`;
  return await browser.open(pageWith(server, site, { user, script, build }));
}

describe('a page', () => {
  for (const channel of ['news', 'private-orders', 'private-encrypted-diary']) {
    it(`receives events of the channel ${channel}`, async () => {
      const { page, reports } = await tabIn(channel);
      expect(await reports.next()).toEqual([channel, 'pusher:subscription_succeeded', {}]);

      await site.library.trigger(channel, 'event', { text: 'Fanfare! 🎺' });

      expect(await reports.next()).toEqual([channel, 'event', { text: 'Fanfare! 🎺' }]);
      await page.close();
    });
  }

  it('gets the members of a presence channel', async () => {
    const { page, reports } = await tabIn('presence-alone');

    expect(await reports.next()).toEqual([
      'presence-alone',
      'pusher:subscription_succeeded',
      { count: 1, me: { id: 'ann', info: { name: 'ANN' } }, members: { ann: { name: 'ANN' } } },
    ]);
    await page.close();
  });

  for (const channel of [
    'cache-scores',
    'private-cache-scores',
    'private-encrypted-cache-scores',
  ]) {
    it(`gets the last event of the channel ${channel}, or that there is none`, async () => {
      const early = await tabIn(channel);
      await early.reports.next();
      expect(await early.reports.next()).toEqual([channel, 'pusher:cache_miss', {}]);

      await site.library.trigger(channel, 'score', { home: 1 });

      const late = await tabIn(channel);
      await late.reports.next();
      expect(await late.reports.next()).toEqual([channel, 'score', { home: 1 }]);
      await Promise.all([early.page.close(), late.page.close()]);
    });
  }

  it('does not receive events that exclude its socket id', async () => {
    const { page, reports } = await tabIn('chat');
    await reports.next();
    const socketId = String(await page.evaluate('pusher.connection.socket_id'));

    await site.library.trigger('chat', 'said', 'by this page', { socket_id: socketId });
    await site.library.trigger('chat', 'said', 'by nobody');

    expect(await reports.next()).toEqual(['chat', 'said', 'by nobody']);
    await page.close();
  });

  it('gets the reason why a subscription is refused', async () => {
    const { page, reports } = await browser.open(
      site.publish(`<!doctype html>
<script src="/pusher.min.js"></script>
<script>
  new Pusher('${APP.key}', {
    ...${JSON.stringify(optionsFor(server))},
    channelAuthorization: { customHandler: (_, answer) => answer(null, { auth: '${APP.key}:forged' }) },
  }).subscribe('private-orders').bind_global((event, data) => report(event, data));
</script>`),
    );

    expect(await reports.next()).toEqual([
      'pusher:subscription_error',
      { type: 'AuthError', status: 401, error: expect.stringMatching(/^Invalid signature: /) },
    ]);
    await page.close();
  });
});

describe('two tabs', () => {
  it('are notified when the other joins and leaves a presence channel', async () => {
    const ann = await tabIn('presence-room', 'ann');
    await ann.reports.next();
    const bob = await tabIn('presence-room', 'bob');
    expect(await bob.reports.next()).toMatchObject([
      'presence-room',
      'pusher:subscription_succeeded',
      { count: 2 },
    ]);
    const member = { id: 'bob', info: { name: 'BOB' } };
    expect(await ann.reports.next()).toEqual(['presence-room', 'pusher:member_added', member]);

    await bob.page.close();

    expect(await ann.reports.next()).toEqual(['presence-room', 'pusher:member_removed', member]);
    expect(await ann.page.evaluate('channel.members.count')).toBe(1);
    await ann.page.close();
  });

  it('of one user are one member until the last of them is closed', async () => {
    const ann = await tabIn('presence-tabs', 'ann');
    await ann.reports.next();
    const first = await tabIn('presence-tabs', 'bob');
    await first.reports.next();
    const second = await tabIn('presence-tabs', 'bob');
    expect(await second.reports.next()).toMatchObject([
      'presence-tabs',
      expect.anything(),
      { count: 2 },
    ]);

    await first.page.close();
    await second.page.close();

    const member = { id: 'bob', info: { name: 'BOB' } };
    expect(await ann.reports.next()).toEqual(['presence-tabs', 'pusher:member_added', member]);
    expect(await ann.reports.next()).toEqual(['presence-tabs', 'pusher:member_removed', member]);
    await ann.page.close();
  });

  it('send each other client events, with the user id of the sender', async () => {
    const bindMove = `channel.bind('client-move', (data, metadata) => report('move', data, metadata));`;
    const ann = await tabIn('presence-game', 'ann', bindMove);
    await ann.reports.next();
    const bob = await tabIn('presence-game', 'bob', bindMove);
    await bob.reports.next();

    await ann.page.evaluate(`channel.trigger('client-move', { to: 'e4' })`);
    expect(await bob.reports.first(([what]) => what === 'move')).toEqual([
      'move',
      { to: 'e4' },
      { user_id: 'ann' },
    ]);
    await bob.page.evaluate(`channel.trigger('client-move', { to: 'e5' })`);
    expect(await ann.reports.first(([what]) => what === 'move')).toEqual([
      'move',
      { to: 'e5' },
      { user_id: 'bob' },
    ]);
    await Promise.all([ann.page.close(), bob.page.close()]);
  });
});

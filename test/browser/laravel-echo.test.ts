import { expect, it, setDefaultTimeout } from 'bun:test';
import { APP, startFanfare } from '../../testing/servers/fanfare.ts';
import { startChromium } from './chromium.ts';
import { startSite } from './site.ts';

setDefaultTimeout(180_000);

it('serves Laravel Echo in a page: channels, presence and whispers', async () => {
  await using server = await startFanfare({ app: { clientEvents: true } });
  using site = startSite(server);
  await using browser = await startChromium();
  const pageOf = (user: string) =>
    site.publish(`<!doctype html>
<script src="/pusher-with-encryption.min.js"></script>
<script src="/echo.iife.js"></script>
<script>
  const echo = new Echo.default({
    broadcaster: 'reverb', key: '${APP.key}',
    wsHost: '127.0.0.1', wsPort: ${server.port}, forceTLS: false, enabledTransports: ['ws', 'wss'],
    authEndpoint: '${site.authEndpoint}', auth: { headers: { 'x-user': '${user}' } },
  });
  echo.channel('orders').listen('OrderShipped', (order) => report('shipped', order));
  echo.private('user.1').listen('.greeted', (greeting) => report('greeted', greeting));
  echo.encryptedPrivate('diary').listen('.entry', (entry) => report('entry', entry));
  const room = echo.join('room')
    .here((users) => report('here', users))
    .joining((user) => report('joining', user))
    .leaving((user) => report('leaving', user))
    .listenForWhisper('typing', (whisper) => report('typing', whisper));
  const wanted = ['orders', 'private-user.1', 'private-encrypted-diary', 'presence-room'];
  for (const name of wanted) {
    echo.connector.pusher.channel(name).bind('pusher:subscription_succeeded', () => report('in', name));
  }
</script>`);
  const receivedBy = async ({ reports }: Awaited<ReturnType<typeof browser.open>>, what: string) =>
    (await reports.first(([first]) => first === what))[1];
  const enter = async (user: string) => {
    const tab = await browser.open(pageOf(user));
    const confirmed: unknown[] = [];
    let here: unknown;
    while (confirmed.length < 4) {
      const [what, value] = await tab.reports.next();
      if (what === 'in') confirmed.push(value);
      else here = value;
    }
    return { ...tab, here };
  };

  const ann = await enter('ann');
  expect(ann.here).toEqual([{ name: 'ANN' }]);
  await site.library.trigger('orders', 'App\\Events\\OrderShipped', { order: 7 });
  expect(await receivedBy(ann, 'shipped')).toEqual({ order: 7 });
  await site.library.trigger('private-user.1', 'greeted', { by: 'the backend' });
  expect(await receivedBy(ann, 'greeted')).toEqual({ by: 'the backend' });
  await site.library.trigger('private-encrypted-diary', 'entry', { text: 'nobody knows' });
  expect(await receivedBy(ann, 'entry')).toEqual({ text: 'nobody knows' });

  const bob = await enter('bob');
  expect(bob.here).toEqual([{ name: 'ANN' }, { name: 'BOB' }]);
  expect(await receivedBy(ann, 'joining')).toEqual({ name: 'BOB' });
  await bob.page.evaluate(`void room.whisper('typing', { name: 'Bob' })`);
  expect(await receivedBy(ann, 'typing')).toEqual({ name: 'Bob' });
  await bob.page.close();
  expect(await receivedBy(ann, 'leaving')).toEqual({ name: 'BOB' });
});

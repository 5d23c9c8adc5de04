import { afterAll, beforeAll, expect, it, setDefaultTimeout } from 'bun:test';
import type { Options } from 'pusher-js';
import { optionsFor } from '../../testing/clients/official-client.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { TcpProxy } from '../../testing/servers/tcp-proxy.ts';
import { type Chromium, startChromium, type Tab } from './chromium.ts';
import { type Site, startSite } from './site.ts';

/** The plugin with web builds as npm has them, whose connections break. */

setDefaultTimeout(180_000);

const CHANNELS = ['news', 'private-orders', 'private-encrypted-diary', 'presence-room'];

const parts = new AsyncDisposableStack();
let server: Fanfare;
let network: TcpProxy;
let site: Site;
let browser: Chromium;

beforeAll(async () => {
  server = parts.use(await startFanfare({ app: { history: [{ channels: '*' }] } }));
  network = parts.use(await TcpProxy.start(server.port));
  site = parts.use(startSite(server));
  browser = parts.use(await startChromium());
});
afterAll(() => parts.disposeAsync());

const page = (user: string, script: string) => `<!doctype html>
<title>${user}</title>
<script src="/pusher-with-encryption.min.js"></script>
<script src="/echo.iife.js"></script>
<script type="module">
  import { resume } from 'http://127.0.0.1:${server.port}/sdk/resume.js';
  ${script}
</script>`;

const watch = `
  const onGap = (name) => report(name, 'gap');
  function watchAll(pusher) {
    resume(pusher, { onGap });
    for (const name of ${JSON.stringify(CHANNELS)}) {
      pusher.subscribe(name)
        .bind('pusher:subscription_succeeded', () => report(name, 'in'))
        .bind('e', (data) => report(name, data));
    }
  }`;

function pusherPage(user: string, enabledTransports: Options['enabledTransports']): string {
  const options = optionsFor(network, { backend: site, user, enabledTransports });
  const script = `watchAll(new Pusher('${APP.key}', ${JSON.stringify(options)}));`;
  return page(user, `${watch} ${script}`);
}

function echoPage(user: string, broadcaster: 'reverb' | 'pusher'): string {
  const script = `
    const echo = new Echo.default({
      broadcaster: '${broadcaster}', key: '${APP.key}', cluster: 'local',
      wsHost: '127.0.0.1', wsPort: ${network.port}, forceTLS: false, enabledTransports: ['ws', 'wss'],
      authEndpoint: '${site.authEndpoint}', auth: { headers: { 'x-user': '${user}' } },
    });
    watchAll(echo.connector.pusher);`;
  return page(user, `${watch} ${script}`);
}

/** Waits until a tab has reported this many events of each channel, and returns them by channel; `except` does not count. */
async function reported(
  { reports }: Tab,
  many: number,
  except?: string,
): Promise<Record<string, unknown[]>> {
  const byChannel = Object.fromEntries(CHANNELS.map((name): [string, unknown[]] => [name, []]));
  for (let left = many * CHANNELS.length; left > 0; ) {
    const [name, what] = await reports.next();
    if (what === except) continue;
    byChannel[String(name)]?.push(what);
    left--;
  }
  return byChannel;
}

const each = (...received: string[]): Record<string, unknown[]> =>
  Object.fromEntries(CHANNELS.map((name) => [name, received]));

const send = async (text: string) => {
  for (const channel of CHANNELS) await site.library.trigger(channel, 'e', text);
};

it('gives pages what they missed, once and in order, over every transport and in Laravel Echo', async () => {
  const pages = [
    pusherPage('ann', ['ws']),
    pusherPage('ben', ['xhr_streaming']),
    pusherPage('cid', ['xhr_polling']),
    echoPage('dan', 'reverb'),
    echoPage('eve', 'pusher'),
  ];
  const tabs = await Promise.all(pages.map((html) => browser.open(site.publish(html))));
  for (const tab of tabs) expect(await reported(tab, 1)).toEqual(each('in'));
  await send('first');
  for (const tab of tabs) expect(await reported(tab, 1)).toEqual(each('first'));

  // A client that comes back waits until the events are there.
  network.stall();
  network.cut();
  await send('second');
  await send('third');
  network.resume();
  // A client that polled in that moment has no new connection, and is not confirmed again.
  for (const tab of tabs) expect(await reported(tab, 2, 'in')).toEqual(each('second', 'third'));
  await send('last');
  for (const tab of tabs) expect(await reported(tab, 1, 'in')).toEqual(each('last'));
});

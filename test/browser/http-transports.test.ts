import { afterAll, beforeAll, describe, expect, it, setDefaultTimeout } from 'bun:test';
import type { Socket } from 'node:net';
import { connect, optionsFor } from '../../testing/clients/official-client.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { TcpProxy } from '../../testing/servers/tcp-proxy.ts';
import { type Chromium, startChromium } from './chromium.ts';
import { pageWith } from './page.ts';
import { type Site, startSite } from './site.ts';

/**
 * The official JavaScript client where WebSockets may not work: in networks that block them, in pages without an origin and
 * in workers.
 */

setDefaultTimeout(180_000);

const TRANSPORTS = ['ws', 'xhr_streaming', 'xhr_polling'] as const;

const parts = new AsyncDisposableStack();
let server: Fanfare;
let site: Site;
let browser: Chromium;

beforeAll(async () => {
  server = parts.use(await startFanfare({ app: { clientEvents: true } }));
  site = parts.use(startSite(server));
  browser = parts.use(await startChromium());
});

afterAll(() => parts.disposeAsync());

describe('a page', () => {
  /** What a network does with the first bytes of a connection, by what it does to WebSockets. */
  const networks = {
    'answers them with 403': (_: Buffer, client: Socket) => {
      client.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n');
      return undefined;
    },
    'removes their Upgrade header': (first: Buffer) =>
      Buffer.from(
        first.toString('latin1').replace(/^(Upgrade|Connection): .*\r\n/gim, ''),
        'latin1',
      ),
    'never answers them': () => undefined,
  };

  it.concurrent.each(Object.entries(networks))(
    'connects over HTTP by itself in a network that %s',
    async (what, begin) => {
      await using network = await TcpProxy.start(server.port);
      let webSockets = 0;
      network.begin = (first, client) => {
        if (!first.toString('latin1').startsWith('GET /app/')) return first;
        webSockets += 1;
        return begin(first, client);
      };
      const channel = what.replaceAll(' ', '-');
      const script = `listen('${channel}')`;
      const { page, reports } = await browser.open(
        pageWith(network, site, { user: 'ann', script, enabledTransports: undefined }),
      );
      expect(await reports.next()).toEqual([channel, 'pusher:subscription_succeeded', {}]);
      expect(webSockets).toBeGreaterThan(0);

      await site.library.trigger(channel, 'event', 'through');

      expect(await reports.next()).toEqual([channel, 'event', 'through']);
      expect(await page.evaluate('pusher.connection.connection.transport.name')).toStartWith(
        'xhr_',
      );
      await page.close();
    },
  );

  it.concurrent('polls in a network that has cut two streams', async () => {
    await using network = await TcpProxy.start(server.port);
    const { page, reports } = await browser.open(
      pageWith(network, site, {
        user: 'ann',
        script: `listen('cut-streams')`,
        enabledTransports: ['xhr_streaming', 'xhr_polling'],
      }),
    );
    const transport = async () => {
      expect(await reports.next()).toEqual(['cut-streams', 'pusher:subscription_succeeded', {}]);
      return await page.evaluate('pusher.connection.connection.transport.name');
    };

    expect(await transport()).toBe('xhr_streaming');
    network.cut();
    expect(await transport()).toBe('xhr_streaming');
    network.cut();
    expect(await transport()).toBe('xhr_polling');

    await site.library.trigger('cut-streams', 'event', 'through');
    expect(await reports.next()).toEqual(['cut-streams', 'event', 'through']);
    await page.close();
  });

  it.concurrent('opens another WebSocket in a network that cuts them', async () => {
    await using network = await TcpProxy.start(server.port);
    const { page, reports } = await browser.open(
      pageWith(network, site, {
        user: 'ann',
        script: `listen('cut-sockets')`,
        enabledTransports: undefined,
      }),
    );
    for (let cuts = 0; cuts < 3; cuts++) {
      expect(await reports.next()).toEqual(['cut-sockets', 'pusher:subscription_succeeded', {}]);
      await site.library.trigger('cut-sockets', 'event', cuts);
      expect(await reports.next()).toEqual(['cut-sockets', 'event', cuts]);
      network.cut();
    }
    await page.close();
  });
});

describe.each(TRANSPORTS)('over %s', (transport) => {
  const named = (channel: string) => `${channel}-${transport}`;
  const enabledTransports = [transport];

  it('a sandboxed page, which has no origin, receives events', async () => {
    const channel = named('news');
    const options = optionsFor(server, { enabledTransports });
    const sandboxed = `<!doctype html>
<script src="${site.origin}/pusher.min.js"></script>
<script>
  const report = (...what) => parent.postMessage(what, '*');
  report(self.origin);
  new Pusher('${APP.key}', ${JSON.stringify(options)})
    .subscribe('${channel}')
    .bind_global(report);
</script>`;
    const { page, reports } = await browser.open(
      site.publish(`<!doctype html>
<script>onmessage = ({ data }) => report(...data);</script>
<iframe sandbox="allow-scripts" srcdoc="${Bun.escapeHTML(sandboxed)}"></iframe>`),
    );
    expect(await reports.next()).toEqual(['null']);
    expect(await reports.next()).toEqual(['pusher:subscription_succeeded', {}]);

    await site.library.trigger(channel, 'event', { text: 'Fanfare! 🎺' });

    expect(await reports.next()).toEqual(['event', { text: 'Fanfare! 🎺' }]);
    await page.close();
  });

  it('a worker is authorised, receives events and sends client events', async () => {
    const channel = named('private-chat');
    using bob = connect(server, { backend: site, user: 'bob' });
    const received = bob.subscribe(channel);
    await received.subscribed();
    const options = optionsFor(server, { backend: site, user: 'ann', enabledTransports });
    const worker = `
      importScripts('${site.origin}/pusher.worker.min.js');
      const channel = new Pusher('${APP.key}', ${JSON.stringify(options)}).subscribe('${channel}');
      channel.bind_global((event, data) => postMessage([event, data]));
      onmessage = ({ data }) => channel.trigger('client-said', data);`;
    const { page, reports } = await browser.open(
      site.publish(`<!doctype html>
<script>
  const script = new Blob([${JSON.stringify(worker)}], { type: 'text/javascript' });
  const worker = new Worker(URL.createObjectURL(script));
  worker.onmessage = ({ data }) => report(...data);
</script>`),
    );
    expect(await reports.next()).toEqual(['pusher:subscription_succeeded', {}]);

    await site.library.trigger(channel, 'event', 'hello');
    expect(await reports.next()).toEqual(['event', 'hello']);
    expect(await received.next()).toEqual(['event', 'hello']);
    await page.evaluate(`worker.postMessage('from a worker')`);

    expect(await received.next()).toEqual(['client-said', 'from a worker']);
    await page.close();
  });
});

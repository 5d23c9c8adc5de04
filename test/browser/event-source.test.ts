import { afterAll, beforeAll, expect, it, setDefaultTimeout } from 'bun:test';
import { signedTarget, trigger } from '../../testing/clients/sign.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { TcpProxy } from '../../testing/servers/tcp-proxy.ts';
import { type Chromium, startChromium, type Tab } from './chromium.ts';
import { type Site, startSite } from './site.ts';

/** EventSource of a browser, whose connections break. */

setDefaultTimeout(180_000);

const CHANNELS = ['private-a', 'presence-b', 'plain'];
const CUTS = 4;
const EVENTS_PER_CUT = 10;

const parts = new AsyncDisposableStack();
let server: Fanfare;
let network: TcpProxy;
let site: Site;
let browser: Chromium;

beforeAll(async () => {
  server = parts.use(
    await startFanfare({
      app: { history: [{ channels: 'private-*' }, { channels: 'presence-*' }] },
    }),
  );
  network = parts.use(await TcpProxy.start(server.port));
  site = parts.use(startSite(server));
  browser = parts.use(await startChromium());
});
afterAll(() => parts.disposeAsync());

/** Opens a page that reads a URL with the lines that the documentation has. */
async function reads(url: string): Promise<Tab> {
  return await browser.open(
    site.publish(`<!doctype html>
<script>
  const source = new EventSource('${url}');
  source.onmessage = ({ data }) => {
    const { channel, event, data: text } = JSON.parse(data);
    report(channel, event, JSON.parse(text));
  };
  source.addEventListener('gap', ({ data }) => report('gap', data));
  source.addEventListener('pusher', ({ data }) => report(JSON.parse(data).event));
  source.onerror = () => report(source.readyState === EventSource.CLOSED ? 'closed' : 'cut');
</script>`),
  );
}

function presigned(seconds: number): string {
  const query = {
    channels: CHANNELS.join(','),
    expires: String(Math.floor(Date.now() / 1000) + seconds),
  };
  const target = signedTarget('GET', `/apps/${APP.id}/stream`, { query });
  return `http://127.0.0.1:${network.port}${target}`;
}

const CONFIRMED = 'pusher_internal:subscription_succeeded';

it('gets each event once and in order over cuts, whatever events are called', async () => {
  const { reports } = await reads(presigned(3600));
  for (let n = 0; n < CHANNELS.length; n++) await reports.first(([what]) => what === CONFIRMED);
  const names = ['paid', 'error', 'open', 'message', 'pusher', 'gap', 'a\nb'];
  const sent: unknown[] = [];
  for (let n = 0; n < CUTS * EVENTS_PER_CUT; n++) {
    const channel = CHANNELS[n % 2] ?? '';
    const name = names[n % names.length] ?? '';
    if (n % EVENTS_PER_CUT === 5) network.cut();
    await trigger(server, { name, channel, data: JSON.stringify({ n }) });
    sent.push([channel, name, { n }]);
  }
  const heard: unknown[] = [];
  while (heard.length < sent.length) {
    const reported = await reports.first(
      ([what]) => what === 'gap' || CHANNELS.includes(String(what)),
    );
    heard.push(reported);
  }
  const of = (all: readonly unknown[], channel: string | undefined) =>
    all.filter((one) => Array.isArray(one) && one[0] === channel);
  for (const channel of CHANNELS) expect(of(heard, channel)).toEqual(of(sent, channel));
});

it('is told that its URL has expired by the end, and by a 401 when it comes back', async () => {
  const { reports } = await reads(presigned(3));
  await reports.first(([what]) => what === CONFIRMED);
  expect(await reports.first(([what]) => what === 'cut')).toEqual(['cut']);
  expect(await reports.first(([what]) => what === 'closed')).toEqual(['closed']);
});

import { afterAll, beforeAll, describe, expect, it, setDefaultTimeout } from 'bun:test';
import { join } from 'node:path';
import { Inbox } from '../../testing/inbox.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { type Chromium, startChromium } from './chromium.ts';
import { type Site, startSite } from './site.ts';

/** The mistakes of docs/use/troubleshooting.md, made in Chromium: its console says what the page says that it says. */

setDefaultTimeout(180_000);

const PICKY = {
  id: 'picky',
  keys: [{ key: 'picky-key', secret: 'picky-secret' }],
  allowedOrigins: ['https://shop.example.com'],
} as const;

describe('troubleshooting.md has the text of the console for', () => {
  let server: Fanfare;
  let site: Site;
  let browser: Chromium;
  let rows: readonly string[];
  const answers = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      const headers = { 'access-control-allow-origin': '*', 'content-type': 'text/html' };
      const path = new URL(request.url).pathname;
      if (path === '/page')
        return new Response('<!DOCTYPE html><title>Log in</title>', { headers });
      if (path === '/redirect')
        return new Response(null, { status: 302, headers: { ...headers, location: '/page' } });
      if (path === '/signature')
        return Response.json({ auth: `${APP.key}:${'ab'.repeat(32)}` }, { headers });
      if (path === '/nothing') return Response.json({}, { headers });
      return new Response('', { status: Number(path.slice(1)), headers });
    },
  });

  beforeAll(async () => {
    const page = await Bun.file(join(import.meta.dir, '../../docs/use/troubleshooting.md')).text();
    rows = page.split('\n').filter((line) => line.startsWith('| '));
    server = await startFanfare({ moreApps: [PICKY] });
    site = startSite(server);
    browser = await startChromium();
  });
  afterAll(async () => {
    await browser[Symbol.asyncDispose]();
    site[Symbol.dispose]();
    await answers.stop(true);
    await server[Symbol.asyncDispose]();
  });

  const right = () => ({
    wsHost: '127.0.0.1',
    wsPort: server.port,
    forceTLS: false,
    cluster: 'local',
    enabledTransports: ['ws', 'wss'],
  });
  const asking = (path: string) => ({
    ...right(),
    channelAuthorization: {
      endpoint: `http://127.0.0.1:${answers.port}/${path}`,
      transport: 'ajax',
    },
  });

  it.each<[string, string | undefined, () => object]>([
    ['Options object must provide a cluster', APP.key, () => ({ wsHost: '127.0.0.1' })],
    ['You must pass your app key', undefined, right],
    [
      'wss://ws-local.pusher.com/',
      APP.key,
      () => ({ cluster: 'local', enabledTransports: ['ws', 'wss'] }),
    ],
    [
      'sockjs-local.pusher.com',
      APP.key,
      () => ({ ...right(), wsPort: 1, enabledTransports: ['xhr_streaming'] }),
    ],
    ['net::ERR_CONNECTION_REFUSED', APP.key, () => ({ ...right(), forceTLS: true })],
    [
      'net::ERR_SSL_PROTOCOL_ERROR',
      APP.key,
      () => ({ ...right(), forceTLS: true, wssPort: server.port }),
    ],
    ['not in this cluster. Did you forget to specify the cluster?', 'otherkey', right],
    ['Origin not allowed', PICKY.keys[0].key, right],
    [
      'Unable to retrieve auth string from channel-authorization endpoint - received status: 403',
      APP.key,
      () => asking('403'),
    ],
    ['received status: 404', APP.key, () => asking('404')],
    ['received status: 419', APP.key, () => asking('419')],
    [
      'JSON returned from channel-authorization endpoint was invalid, yet status code was 200. Data was: <!DOCTYPE html>',
      APP.key,
      () => asking('redirect'),
    ],
    ['Invalid signature: Expected HMAC SHA256 hex digest of', APP.key, () => asking('signature')],
    ['Auth value for subscription to', APP.key, () => asking('nothing')],
  ])('%s', async (text, key, options) => {
    expect(rows.filter((row) => row.includes(text))).toHaveLength(1);
    const { page } = await browser.open(site.publish('<script src="/pusher.min.js"></script>'));
    const lines = new Inbox<string>(`The console, waiting for "${text}"`);
    page.on('console', (message) => lines.put(`${message.text()} ${message.location().url}`));
    page.on('pageerror', (error) => lines.put(String(error.message ?? error)));
    await page.addScriptTag({
      content: `Pusher.logToConsole = true;
        new Pusher(${JSON.stringify(key)}, ${JSON.stringify(options())}).subscribe('private-a');`,
    });
    expect(await lines.first((line) => line.includes(text))).toContain(text);
    await page.close();
  });
});

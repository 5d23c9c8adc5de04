import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { APP } from '../../testing/servers/fanfare.ts';
import type { RunningProxy } from './proxies.ts';

/** The transports of pusher-js. */
export const transports = ['wss', 'xhr_streaming', 'xhr_polling'] as const;
export type Transport = (typeof transports)[number];

/** A page with the web build of pusher-js. */
export interface PusherPage extends AsyncDisposable {
  /** Connects through a proxy by one of these transports and subscribes. Returns which one it was. */
  subscribe(options: {
    readonly proxy: RunningProxy;
    readonly transports: readonly Transport[];
    readonly channel: string;
  }): Promise<string>;
  /** Waits for the next event of a channel that was or will be subscribed to. */
  receive(channel: string): Promise<unknown>;
}

/** What the page runs. Each channel has a client of its own. */
const SCRIPT = `
const heard = {};
const boxOf = (name) => (heard[name] ??= Promise.withResolvers());
function subscribes({ port, transports, channel }) {
  const enabledTransports = transports.flatMap((name) => (name === 'wss' ? ['ws', 'wss'] : [name]));
  const pusher = new Pusher('${APP.key}', {
    cluster: '', forceTLS: true, enabledTransports,
    wsHost: 'localhost', wsPort: port, wssPort: port, httpHost: 'localhost', httpPort: port, httpsPort: port,
  });
  const subscription = pusher.subscribe(channel);
  subscription.bind('headline', (data) => boxOf(channel).resolve(data));
  return new Promise((resolve) =>
    subscription.bind('pusher:subscription_succeeded', () => resolve(pusher.connection.connection.transport.name)));
}`;

/** Opens a page in Chromium. */
export async function openPusherPage(): Promise<PusherPage> {
  await using parts = new AsyncDisposableStack();
  const library = Bun.file(
    join(import.meta.dir, '../../node_modules/pusher-js/dist/web/pusher.min.js'),
  );
  const site = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    routes: {
      '/pusher.js': new Response(await library.bytes()),
      '/': new Response(
        `<!doctype html><script src="/pusher.js"></script><script>${SCRIPT}</script>`,
        {
          headers: { 'content-type': 'text/html' },
        },
      ),
    },
  });
  parts.defer(() => site.stop(true));
  const executablePath = Bun.which('chromium') ?? Bun.which('google-chrome') ?? '';
  const args = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-quic'];
  const browser = await chromium.launch({ executablePath, args });
  parts.defer(() => browser.close());
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  const page = await context.newPage();
  await page.goto(site.url.href);
  const running = parts.move();
  return {
    subscribe: ({ proxy: { port }, transports, channel }) =>
      page.evaluate(`subscribes(${JSON.stringify({ port, transports, channel })})`),
    receive: (channel) => page.evaluate(`boxOf(${JSON.stringify(channel)}).promise`),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

import { afterEach, describe, expect, it } from 'bun:test';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Pusher from 'pusher';
import { createSendRequest } from '../../src/outgoing/request.ts';
import { resolverTo } from '../../src/outgoing/resolver.fixture.ts';
import { monotonicTimers, systemTimers } from '../../src/runtime/system-timers.ts';
import { openDatabase } from '../../src/stores/database/database.ts';
import { StoredOutbox } from '../../src/stores/webhooks/outbox.ts';
import { StoredOutboxLog } from '../../src/stores/webhooks/outbox-log.ts';
import { appOf, keptLog, occupied, webhookTo } from '../../src/webhooks/webhooks.fixture.ts';
import { Webhooks } from '../../src/webhooks/webhooks.ts';

let stops = new AsyncDisposableStack();
afterEach(async () => {
  await stops.disposeAsync();
  stops = new AsyncDisposableStack();
});

interface Asked {
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** An endpoint on 127.0.0.1 that remembers what it was asked. */
function endpoint(
  answer: () => Response | Promise<Response> = () => new Response('thanks'),
  port = 0,
) {
  const asked: Asked[] = [];
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port,
    idleTimeout: 0,
    async fetch(request) {
      asked.push({ headers: request.headers.toJSON(), body: await request.text() });
      return answer();
    },
  });
  const stop = () => server.stop(true);
  stops.defer(stop);
  return { url: `http://127.0.0.1:${server.port}/`, port: Number(server.port), asked, stop };
}

/** An endpoint that does as it likes with each connection. */
async function rawEndpoint(answer: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
    socket.once('data', () => answer(socket));
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  stops.defer(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return `http://127.0.0.1:${address.port}/`;
}

/** Webhooks of one app per address, in a real file. The app is called by the place of its address. */
async function open(
  urls: readonly string[],
  { allowPrivateAddresses = true, timeoutSeconds = 1 } = {},
): Promise<Webhooks> {
  const folder = await mkdtemp(join(tmpdir(), 'fanfare-webhooks-'));
  stops.defer(() => rm(folder, { recursive: true }));
  const database = stops.use(await openDatabase(`sqlite:${folder}/store.db`));
  const apps = new Map(urls.map((url, index) => [`${index}`, appOf(`${index}`, [webhookTo(url)])]));
  return stops.use(
    await Webhooks.open({
      outbox: new StoredOutbox(database),
      outboxLog: new StoredOutboxLog(database),
      app: (id) => apps.get(id),
      instance: () => undefined,
      settings: { timeoutSeconds, logDays: 7 },
      timers: systemTimers,
      monotonic: monotonicTimers,
      send: createSendRequest({ allowPrivateAddresses, resolver: resolverTo('127.0.0.1') }),
      log: keptLog(),
    }),
  );
}

const accept = (webhooks: Webhooks, count = 1, app = '0') =>
  webhooks.accept(
    Array.from({ length: count }, (_, index) => occupied(app, `${index}`, Date.now())),
  );

async function attempts(webhooks: Webhooks) {
  const [entry] = await webhooks.list({ limit: 1 });
  const details = await webhooks.show(entry?.id ?? '');
  return { state: details?.state, reason: details?.reason, log: details?.attemptLog ?? [] };
}

describe('a webhook', () => {
  it('is valid for the official library', async () => {
    const { url, asked } = endpoint();
    const webhooks = await open([url]);
    accept(webhooks);
    await until(() => asked.length === 1);
    const { headers = {}, body = '' } = asked[0] ?? {};
    expect(headers['content-type']).toBe('application/json');
    const pusher = new Pusher({ appId: '0', key: '0-key', secret: '0-secret', host: '127.0.0.1' });
    const webhook = pusher.webhook({ headers, rawBody: body });
    expect(webhook.isValid()).toBe(true);
    expect<unknown>(webhook.getEvents()).toEqual([{ name: 'channel_occupied', channel: '0' }]);
  });

  it('reaches an endpoint that was down', async () => {
    const { url, port, stop } = endpoint();
    await stop();
    const webhooks = await open([url]);
    accept(webhooks, 3);
    await until(() => webhooks.figures().attempts.unreachable >= 3);
    const { asked } = endpoint(undefined, port);
    await until(() => webhooks.figures().queuedRows === 0);
    expect(asked).toHaveLength(3);
    expect((await attempts(webhooks)).log.map(({ outcome }) => outcome)).toContain('unreachable');
  });

  it('follows no redirect to where it may not be sent', async () => {
    const inner = endpoint();
    const { url, asked } = endpoint(() => Response.redirect(inner.url, 307));
    const webhooks = await open([url]);
    accept(webhooks);
    await until(() => webhooks.figures().attempts.refused > 0);
    expect(asked).toHaveLength(1);
    expect(inner.asked).toEqual([]);
  });

  it('is not sent to a private address unless that is allowed', async () => {
    const { url, asked } = endpoint();
    const webhooks = await open([url, url.replace('127.0.0.1', 'localhost')], {
      allowPrivateAddresses: false,
    });
    accept(webhooks, 1, '0');
    accept(webhooks, 1, '1');
    await until(() => webhooks.figures().attempts['not-allowed'] === 2);
    await until(() => webhooks.figures().queuedRows === 0);
    expect(await attempts(webhooks)).toMatchObject({
      state: 'failed',
      reason: expect.stringContaining('127.0.0.1 is not a public address (loopback)'),
    });
    expect(asked).toEqual([]);
  });

  it('does not suffer from an answer of a gigabyte', async () => {
    const chunk = Buffer.alloc(65_536, 'x');
    let sent = 0;
    const url = await rawEndpoint((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n');
      const more = () => {
        while (!socket.destroyed && sent < 2 ** 30) {
          sent += chunk.length;
          if (!socket.write(chunk)) return void socket.once('drain', more);
        }
      };
      more();
    });
    const webhooks = await open([url]);
    const before = process.memoryUsage().rss;
    accept(webhooks);
    await until(() => webhooks.figures().queuedRows === 0 && sent > 0);
    expect(await attempts(webhooks)).toMatchObject({
      state: 'delivered',
      log: [{ status: 200, answer: 'x'.repeat(1_024) }],
    });
    expect(sent).toBeLessThan(64 * 2 ** 20);
    expect(process.memoryUsage().rss - before).toBeLessThan(128 * 2 ** 20);
  });

  it('is not delayed by endpoints that hang, answer in small pieces, or fail', async () => {
    const good = endpoint();
    const failing = endpoint(() => new Response('no', { status: 500 }));
    const hanging = await rawEndpoint(() => undefined);
    const dripping = await rawEndpoint((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      const timer = setInterval(() => socket.write('x: y\r\n'), 50);
      socket.on('close', () => clearInterval(timer));
    });
    // What waits for one that hangs would not be sent while this test runs.
    const webhooks = await open([good.url, failing.url, hanging, dripping], {
      timeoutSeconds: 3600,
    });
    for (const app of ['1', '2', '3']) accept(webhooks, 1_000, app);
    accept(webhooks, 500, '0');
    await until(() => good.asked.length === 500);
    expect(webhooks.figures().inFlight).toBeLessThanOrEqual(4 * 4);
  });
});

async function until(holds: () => boolean): Promise<void> {
  for (let round = 0; !holds(); round++) {
    if (round > 1_500) throw new Error('it never happened');
    await Bun.sleep(10);
  }
}

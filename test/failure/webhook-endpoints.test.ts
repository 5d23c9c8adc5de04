import { describe, expect, it } from 'bun:test';
import { readFileSync } from 'node:fs';
import { RawClient } from '../../testing/clients/raw-client.ts';
import { trigger } from '../../testing/clients/sign.ts';
import { Inbox } from '../../testing/inbox.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';

const LONG_MS = 180_000;

/** An app beside the test app, whose webhooks go to one address. */
const appWith = (id: string, url: string) => ({
  id,
  name: id,
  keys: [{ key: `${id}-key`, secret: `${id}-secret` }],
  webhooks: [{ url, events: ['channel_occupied'] }],
});

/** An endpoint that keeps what it receives. */
function endpoint(port = 0) {
  const received = new Inbox<string>('the endpoint');
  const http = Bun.serve({
    hostname: '127.0.0.1',
    port,
    async fetch(request) {
      const { events } = (await request.json()) as { events: { channel: string }[] };
      for (const { channel } of events) received.put(channel);
      return new Response();
    },
  });
  return {
    port: Number(http.port),
    url: `http://127.0.0.1:${http.port}/`,
    received,
    [Symbol.asyncDispose]: () => http.stop(true),
  };
}

/** An endpoint that does as it likes with each connection. */
function rawEndpoint(handlers: Pick<Bun.SocketHandler<undefined>, 'data' | 'drain'>) {
  const asked = new Inbox<true>('the endpoint');
  const listener = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      ...handlers,
      data: (socket, bytes) => {
        handlers.data?.(socket, bytes);
        asked.put(true);
      },
    },
  });
  return {
    url: `http://127.0.0.1:${listener.port}/`,
    asked,
    [Symbol.dispose]: () => listener.stop(true),
  };
}

const startWith = (urls: Readonly<Record<string, string>>): Promise<Fanfare> =>
  startFanfare({
    moreApps: Object.entries(urls).map(([id, url]) => appWith(id, url)),
    config: { webhooks: { allowPrivateAddresses: true, timeoutSeconds: 1 } },
  });

/** Occupies a channel of an app. */
async function occupy(server: Fanfare, app: string, channel: string): Promise<RawClient> {
  const client = await RawClient.connect(server, {
    path: `/app/${app}-key?protocol=7&client=js&version=8.6.0`,
  });
  await client.subscribe(channel);
  return client;
}

/** The server delivers events to clients. */
async function delivers(server: Fanfare): Promise<void> {
  await using client = await RawClient.connect(server);
  await client.subscribe('news');
  await trigger(server, { name: 'e', channel: 'news', data: 'x' });
  expect(await client.receive()).toMatchObject({ event: 'e', data: 'x' });
}

/** The most memory that the server ever had. Linux only. */
function peakBytes(server: Fanfare): number {
  const status = readFileSync(`/proc/${server.process.pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

describe('a server whose webhook endpoint', () => {
  it.concurrent(
    'was down sends it everything once it is up',
    async () => {
      await using reserved = endpoint();
      const { port, url } = reserved;
      await reserved[Symbol.asyncDispose]();
      await using server = await startWith({ shop: url });
      await using _a = await occupy(server, 'shop', 'a');
      await using _b = await occupy(server, 'shop', 'b');
      await server.logged(/Webhook attempted.*"outcome":"unreachable"/);
      await delivers(server);

      await using back = endpoint(port);

      expect([await back.received.next(), await back.received.next()].sort()).toEqual(['a', 'b']);
    },
    LONG_MS,
  );

  it.concurrent(
    'hangs delays neither events nor webhooks of others',
    async () => {
      using hanging = rawEndpoint({ data: () => undefined });
      await using good = endpoint();
      await using server = await startWith({ slow: hanging.url, shop: good.url });
      const clients: RawClient[] = [];
      for (let n = 0; n < 20; n++) clients.push(await occupy(server, 'slow', `slow-${n}`));
      await hanging.asked.next();

      await using _one = await occupy(server, 'shop', 'fast');

      expect(await good.received.next()).toBe('fast');
      await delivers(server);
      await server.logged(/Webhook attempted.*"outcome":"timeout"/);
      for (const client of clients) await client[Symbol.asyncDispose]();
    },
    LONG_MS,
  );

  it.concurrent(
    'answers a gigabyte reads no more of it than it logs',
    async () => {
      const chunk = Buffer.alloc(65_536, 'x');
      let sentBytes = 0;
      const more = (socket: Bun.Socket<undefined>) => {
        for (let wrote = chunk.length; wrote === chunk.length && sentBytes < 2 ** 30; ) {
          wrote = socket.write(chunk);
          sentBytes += Math.max(0, wrote);
        }
      };
      using endless = rawEndpoint({
        data: (socket) => {
          socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n');
          more(socket);
        },
        drain: more,
      });
      await using server = await startWith({ shop: endless.url });
      const before = process.platform === 'linux' ? peakBytes(server) : 0;
      await using _one = await occupy(server, 'shop', 'a');

      await server.logged(/Webhook attempted.*"outcome":"delivered"/);

      await delivers(server);
      expect(sentBytes).toBeLessThan(64 * 2 ** 20);
      if (process.platform === 'linux') {
        expect(peakBytes(server) - before).toBeLessThan(128 * 2 ** 20);
      }
    },
    LONG_MS,
  );
});

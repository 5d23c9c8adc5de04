import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import PusherJs from 'pusher-js';
import { optionsFor } from '../../testing/clients/official-client.ts';
import { RawClient } from '../../testing/clients/raw-client.ts';
import { type RawAnswer, RawHttp } from '../../testing/clients/raw-http.ts';
import { SessionRequests } from '../../testing/clients/session-requests.ts';
import { signedTarget } from '../../testing/clients/sign.ts';
import { eventually } from '../../testing/eventually.ts';
import { Inbox } from '../../testing/inbox.ts';
import { type Companion, startCompanion } from '../../testing/servers/companion.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';

/** What a server does between the signal and its end. Source: HTTP transports, §14.7. */

/** Longer than any of these tests: the drain ends with the last client. */
const DRAIN_SECONDS = 60;

let companion: Companion;
beforeAll(async () => {
  companion = await startCompanion();
});
afterAll(() => companion[Symbol.asyncDispose]());

/** Starts a server that belongs to another one. */
const startDraining = (threads: number) =>
  startFanfare({ threads, config: { ...companion.config, drainSeconds: DRAIN_SECONDS } });

/** Triggers an event over a connection of its own. */
async function triggerAlone(server: Fanfare): Promise<RawAnswer> {
  const body = JSON.stringify({ name: 'e', channel: 'news', data: '' });
  const target = signedTarget('POST', `/apps/${APP.id}/events`, { body });
  await using client = await RawHttp.open(server);
  return await client.request({ method: 'POST', target, body });
}

/** Settles when every thread drains, which shows in its answers. Each trigger until then is answered. */
async function draining(server: Fanfare): Promise<void> {
  await eventually(
    async () => {
      // The system chooses the thread of each connection.
      const answers = await Promise.all(Array.from({ length: 16 }, () => triggerAlone(server)));
      expect(answers.map(({ status }) => status)).toEqual(Array(16).fill(200));
      return answers.map(({ headers }) => headers.get('connection'));
    },
    (connections) => connections.every((one) => one === 'close'),
  );
  // The background thread learns of the drain from a message, later than the realtime threads.
  await eventually(
    () => answerOf(server.adminPort, '/readyz'),
    ([, connection]) => connection === 'close',
  );
}

/** The status of an answer, and what it says about its connection. */
async function answerOf(port: number, target: string): Promise<readonly unknown[]> {
  await using client = await RawHttp.open({ port });
  const { status, headers } = await client.request({ method: 'GET', target });
  return [status, headers.get('connection')];
}

describe.each([1, 2])('a server of several with %d threads that stops', (threads) => {
  it('serves requests, also over new connections, as long as a client has not polled', async () => {
    await using server = await startDraining(threads);
    const polling = new SessionRequests(server);
    await polling.pollOpen();
    await using socket = await RawClient.connect(server, { transport: 'ws' });

    server.process.kill('SIGTERM');
    expect(await socket.closed).toMatchObject({ code: 4200 });
    await draining(server);

    expect(await answerOf(server.adminPort, '/readyz')).toEqual([503, 'close']);
    for (const port of [server.port, server.pushPort]) {
      expect(await answerOf(port, '/readyz')).toEqual([503, 'close']);
      expect(await answerOf(port, '/healthz')).toEqual([200, 'close']);
    }
    expect(await answerOf(server.pushPort, '/')).toEqual([404, 'close']);
    for (let n = 0; n < 30; n++) {
      const { status, headers, body } = await triggerAlone(server);
      expect([status, headers.get('connection'), body]).toEqual([200, 'close', '{}']);
    }
    // Not 4200: these clients would come back within milliseconds.
    using stream = await new SessionRequests(server).stream();
    await stream.ended();
    expect(stream.text).toBe('o\nc[4100,"Over capacity"]\n');
    for (let n = 0; n < 4; n++) {
      await using late = await RawClient.open(server, { transport: 'ws' });
      expect((await late.receive()).event).toBe('pusher:error');
      expect(await late.closed).toMatchObject({ code: 4200 });
    }
    // Another server can take those that come through a proxy.
    const proxied = { headers: { 'X-Forwarded-For': '192.0.2.1' } };
    await using refused = await RawClient.open(server, proxied);
    expect(refused.responseHead).toStartWith('HTTP/1.1 503 ');
    expect(server.process.exitCode).toBeNull();

    const { status, text, headers } = await polling.poll();
    expect([status, text]).toEqual([200, expect.stringMatching(/^(a\[.*\]\n)?c\[4200,".*"\]\n$/)]);
    expect(headers.get('connection')).toBe('close');
    expect(await server.process.exited).toBe(0);
    await expect(RawHttp.open(server)).rejects.toThrow();
  });

  it('closes pusher-js with 4200 by its next poll, if it was between two polls', async () => {
    await using server = await startDraining(threads);
    const { promise: stopped, resolve: isDraining } = Promise.withResolvers<void>();
    const errors = new Inbox<number>('pusher-js');
    let polls = 0;
    // Holds the client's third poll back: it is then between two polls.
    const held = Promise.withResolvers<void>();
    using proxy = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      idleTimeout: 0,
      async fetch(request) {
        const { pathname, search } = new URL(request.url);
        if (pathname.endsWith('/xhr')) {
          polls++;
          if (polls === 3) {
            held.resolve();
            await stopped;
          }
        }
        const url = `http://127.0.0.1:${server.port}${pathname}${search}`;
        const { method } = request;
        const body = await request.text();
        // It comes back once the server has ended.
        return await fetch(url, { method, body }).catch(() => new Response('', { status: 502 }));
      },
    });
    const options = optionsFor({ port: proxy.port ?? 0 }, { enabledTransports: ['xhr_polling'] });
    const pusher = new PusherJs(APP.key, options);
    pusher.connection.bind('error', ({ data }: { data?: { code?: number } }) => {
      errors.put(data?.code ?? 0);
    });
    await held.promise;

    server.process.kill('SIGTERM');
    await draining(server);
    isDraining();

    expect(await errors.next()).toBe(4200);
    pusher.disconnect();
    expect(await server.process.exited).toBe(0);
  });
});

describe.each([1, 2])('a server without others with %d threads that stops', (threads) => {
  it('lets old and new clients wait until everything is saved, and closes all with 4100 at the end', async () => {
    await using server = await startFanfare({
      threads,
      onlyOne: 'restart',
      program: `${import.meta.dir}/../failure/held-events-server.fixture.ts`,
      environment: { HELD: 'stop' },
      config: { drainSeconds: DRAIN_SECONDS },
    });
    await using client = await RawClient.connect(server, { transport: 'ws' });
    await client.subscribe('quiet');
    const stream = await new SessionRequests(server).stream();
    await stream.opens();

    server.process.kill('SIGTERM');
    const refused = await eventually(
      () => triggerAlone(server),
      ({ status }) => status === 503,
    );
    expect([refused.headers.get('retry-after'), refused.headers.get('connection')]).toEqual([
      '1',
      'close',
    ]);
    await stream.ended();
    expect(stream.text).toEndWith('c[4100,"Server is stopping, please reconnect later"]\n');
    // No other server could take it.
    const proxied = { transport: 'ws', headers: { 'X-Forwarded-For': '192.0.2.1' } } as const;
    await using late = await RawClient.open(server, proxied);
    expect(server.process.exitCode).toBeNull();

    for (const one of [client, late]) {
      expect(await one.receive()).toMatchObject({ event: 'pusher:error', data: { code: 4100 } });
      expect(await one.closed).toMatchObject({ code: 4100 });
    }
    // A part that hangs does not keep it.
    expect(await server.process.exited).toBe(0);
  });
});

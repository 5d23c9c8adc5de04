import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { RawClient } from '../../../testing/clients/raw-client.ts';
import { messagesOf, SessionRequests } from '../../../testing/clients/session-requests.ts';
import { channelAuth, trigger } from '../../../testing/clients/sign.ts';
import { eventually } from '../../../testing/eventually.ts';
import { APP, type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { newApp } from '../../../testing/servers/test-app.ts';
import { channels, fresh } from '../websocket/conversation.ts';
import { opened, subscribe, subscribed } from './opened.ts';

/** Source: HTTP transports. */

const STREAM_UNITS = 262_144;
const FRAME_BYTES = 65_536;

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare({
    app: { clientEvents: true, limits: { eventDataBytes: 1_000_000 } },
  });
});
afterAll(() => server[Symbol.asyncDispose]());

describe('a stream', () => {
  it('opens with `o`, and then the established connection', async () => {
    using stream = await new SessionRequests(server).stream();

    expect(await stream.line()).toBe('o');
    const [established] = await stream.messages();
    expect(established?.event).toBe('pusher:connection_established');
    const { headers, status } = stream.response;
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('application/javascript; charset=UTF-8');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('cache-control')).toBe('no-store, no-transform');
    expect(headers.get('x-accel-buffering')).toBe('no');
    expect(headers.get('access-control-allow-origin')).toBe('*');
    expect(headers.has('content-encoding')).toBe(false);
  });

  it('ends every line with one line feed, and has no empty line', async () => {
    using given = await subscribed(server);
    const { stream, channel } = given;
    await trigger(server, { name: 'e', channel, data: 'two\nlines\r\n' });
    expect((await stream.messages())[0]?.data).toBe('two\nlines\r\n');

    expect(stream.text).not.toContain('\r');
    expect(stream.text).not.toContain('\n\n');
    expect(stream.text.endsWith('\n')).toBe(true);
  });

  it('answers an empty send with an empty line of messages', async () => {
    using given = await opened(server);
    const { session, stream } = given;
    expect(await session.send()).toBe(204);
    expect(await stream.line()).toBe('a[]');
  });

  it('replaces the one before, which ends without another line', async () => {
    using given = await opened(server);
    const { session, stream: first } = given;
    using second = await session.stream();
    await first.ended();
    expect(first.lines).toEqual([]);

    // Without a line, clients would not even get the head of the response.
    expect(await second.line()).toBe('a[]');
    await session.send({ event: 'pusher:ping' });
    expect((await second.messages())[0]?.event).toBe('pusher:pong');
  });

  it('ends its session when the client breaks it', async () => {
    const { session, stream, channel } = await subscribed(server);

    stream.break();

    await eventually(
      () => channels(server),
      (occupied) => !(channel in occupied),
    );
    expect(await session.send({ event: 'pusher:ping' })).toBe(404);
    using again = await session.stream();
    await again.opens();
  });
});

describe('a stream of more than 262,144 units', () => {
  // Of one, two and three bytes, and a pair of units.
  it.each(['x', 'é', '€', '😀'])(
    'gets no message behind the line that passes them, of %s',
    async (character) => {
      using given = await subscribed(server);
      const { session, stream: first, channel } = given;
      const data = character.repeat(Math.floor(40_000 / character.length));
      let sent = 0;
      const publish = () => trigger(server, { name: `${sent++}`, channel, data });

      while (first.text.length <= STREAM_UNITS) {
        await publish();
        await first.messages();
      }
      const full = first.text;
      for (let n = 0; n < 3; n++) await publish();

      using second = await session.stream();
      const names: string[] = [];
      while (names.length < 3) names.push(...(await second.messages()).map(({ event }) => event));
      expect(names).toEqual([sent - 3, sent - 2, sent - 1].map(String));
      expect(first.text).toBe(full);
      // Nothing has opened a second time.
      expect(second.text).not.toContain('o\n');
      await publish();
      expect((await second.messages())[0]?.event).toBe(`${sent - 1}`);
    },
  );

  it('keeps its session while the client reopens it', async () => {
    using given = await subscribed(server);
    const { session, stream: first, channel } = given;
    await trigger(server, { name: 'long', channel, data: 'x'.repeat(STREAM_UNITS) });
    await first.messages();

    first.break();
    await trigger(server, { name: 'between', channel, data: '' });

    using second = await session.stream();
    expect((await second.messages())[0]?.event).toBe('between');
  });
});

describe('a poll', () => {
  it('opens a session with `o` alone, and the next one has the established connection', async () => {
    const session = new SessionRequests(server);
    const first = await session.poll();
    expect(first).toMatchObject({ status: 200, text: 'o\n' });
    expect(first.headers.get('content-length')).toBe('2');
    const second = await session.poll();
    expect(messagesOf(second.text)[0]?.event).toBe('pusher:connection_established');
    expect(second.text.endsWith(']\n')).toBe(true);
  });

  it('is no connection before its second request', async () => {
    const app = await newApp(server, { limits: { connections: 1 } });
    for (let n = 0; n < 3; n++) {
      expect((await new SessionRequests(server, { key: app.key }).poll()).text).toBe('o\n');
    }
    await using client = await app.connect();
    await client.receiveNothing();
  });

  it('is held until there is something to send, and has all of it in one line', async () => {
    const session = new SessionRequests(server);
    await session.pollOpen();
    const channel = fresh();
    const confirmed = session.poll();
    await session.send(subscribe(channel));
    await confirmed;
    for (const name of ['a', 'b', 'c']) await trigger(server, { name, channel, data: '' });

    const { text } = await session.poll();

    expect(messagesOf(text).map(({ event }) => event)).toEqual(['a', 'b', 'c']);
    expect(text.indexOf('\n')).toBe(text.length - 1);
  });

  it('replaces the one before', async () => {
    const session = new SessionRequests(server);
    await session.pollOpen();
    const first = session.poll();
    // An answer of the server says that it has both.
    await session.send();
    expect((await first).text).toBe('a[]\n');
    // Should the newer one arrive first, the other one is refused.
    const [older, newer] = [session.poll(), session.poll()];
    expect((await older).text).toMatch(/^(o\nc\[4100,.*\n)?$/);
    await session.send({ event: 'pusher:ping' });
    expect(messagesOf((await newer).text)[0]?.event).toBe('pusher:pong');
  });

  it('ends its session when the client breaks it', async () => {
    const session = new SessionRequests(server);
    await session.pollOpen();
    const abort = new AbortController();
    const poll = session.poll(abort.signal).catch(() => 'broken');
    await session.send({ event: 'pusher:unknown' });
    await poll;
    const held = session.poll(abort.signal).catch(() => 'broken');
    // The server has the poll once it answers a later request of the same session.
    await session.send({ event: 'pusher:pong' });
    abort.abort();
    expect(await held).toBe('broken');
    await eventually(
      () => session.send(),
      (status) => status === 404,
    );
  });
});

describe('a receive request with a body', () => {
  it.each(['xhr_streaming', 'xhr'])('is refused by %s, because nobody reads it', async (end) => {
    const session = new SessionRequests(server);
    const response = await fetch(`${session.base}/${end}?protocol=7`, {
      method: 'POST',
      body: '[]',
    });
    expect(response.status).toBe(413);
    expect(await session.send()).toBe(404);
  });

  it('is refused if the body comes in chunks', async () => {
    const { base } = new SessionRequests(server);
    expect(await answerToChunks(`${base}/xhr?protocol=7`, ['[', ']'])).toEqual([
      413,
      expect.any(String),
    ]);
  });

  it('is accepted if its chunks are empty, as of a proxy that does not know the length', async () => {
    const { base } = new SessionRequests(server);
    expect(await answerToChunks(`${base}/xhr?protocol=7`, [])).toEqual([200, 'o\n']);
  });
});

/** The status and the body of the answer to a request that announces chunks. */
function answerToChunks(url: string, chunks: readonly string[]): Promise<[number, string]> {
  return new Promise((resolve, reject) => {
    const asked = request(url, {
      method: 'POST',
      headers: { 'transfer-encoding': 'chunked' },
    });
    asked.on('error', reject);
    asked.on('response', (answer) => {
      text(answer).then((body) => resolve([answer.statusCode ?? 0, body]), reject);
    });
    for (const chunk of chunks) asked.write(chunk);
    asked.end();
  });
}

describe('a refusal', () => {
  const refusals = [
    ['an unknown key', { key: 'nobody' }, 4001],
    ['no key', { key: '' }, 4001],
    ['protocol 4', { query: 'protocol=4&client=js&version=8.6.0' }, 4007],
    ['no protocol', { query: 'client=js' }, 4008],
  ] as const;

  it.each(refusals)(
    'of a stream with %s is `o` and the code, with 200',
    async (_, options, code) => {
      using stream = await new SessionRequests(server, options).stream();
      await stream.ended();
      expect(stream.response.status).toBe(200);
      expect(stream.text).toMatch(new RegExp(`^o\nc\\[${code},"[^"]+"\\]\n$`));
    },
  );

  it.each(refusals)('of a poll with %s is the same', async (_, options, code) => {
    const { status, text } = await new SessionRequests(server, options).poll();
    expect(status).toBe(200);
    expect(text).toMatch(new RegExp(`^o\nc\\[${code},"[^"]+"\\]\n$`));
  });

  it('of an app that has all its connections is 4004', async () => {
    const app = await newApp(server, { limits: { connections: 1 } });
    await using _client = await app.connect();
    using stream = await new SessionRequests(server, { key: app.key }).stream();
    await stream.ended();
    expect(stream.text).toBe('o\nc[4004,"Account over quota"]\n');
    const polled = await new SessionRequests(server, { key: app.key }).poll();
    expect(polled.text).toBe('o\nc[4004,"Account over quota"]\n');
  });
});

describe('a send', () => {
  it('is answered with 204, whatever its type, and its messages are accepted in order', async () => {
    using given = await opened(server);
    const { session, stream } = given;
    const [one, two] = [fresh(), fresh()];
    expect(await session.send(subscribe(one), subscribe(two))).toBe(204);
    const confirmed: (string | undefined)[] = [];
    while (confirmed.length < 2) confirmed.push(...(await stream.messages()).map((m) => m.channel));
    expect(confirmed).toEqual([one, two]);
  });

  it('waits for those before it', async () => {
    using given = await opened(server);
    const { session, stream } = given;
    const channel = fresh();
    const earlier = session.skip();
    await session.send({ event: 'pusher:unsubscribe', data: { channel } }, subscribe(channel));
    await session.sendBody(JSON.stringify([JSON.stringify(subscribe(channel))]), earlier);

    const events: (string | undefined)[] = [];
    while (events.length < 2) events.push(...(await stream.messages()).map((one) => one.event));
    expect(events).toEqual([
      'pusher_internal:subscription_succeeded',
      'pusher_internal:subscription_succeeded',
    ]);
  });

  it('that is repeated counts once', async () => {
    using given = await opened(server);
    const { session, stream } = given;
    const body = JSON.stringify(['{"event":"pusher:ping"}']);
    expect((await session.sendBody(body)).status).toBe(204);
    expect((await session.sendBody(body, session.lastNumber)).status).toBe(204);
    await session.send({ event: 'pusher:unknown' });
    const events: string[] = [];
    while (events.length < 2) events.push(...(await stream.messages()).map(({ event }) => event));
    expect(events).toEqual(['pusher:pong', 'pusher:error']);
  });

  it('to an unknown session is answered with 404', async () => {
    expect(await new SessionRequests(server).send({ event: 'pusher:ping' })).toBe(404);
  });

  it.each([
    '',
    '{}',
    '"text"',
    '[1]',
    '[null]',
    '["a",',
    '[["a"]]',
    Buffer.from([0x5b, 0x22, 0xff, 0x22, 0x5d]),
  ])('of %p is answered with 400, and nothing of it is accepted', async (body) => {
    using given = await opened(server);
    const { session, stream } = given;
    const response = await session.sendBody(typeof body === 'string' ? body : new Uint8Array(body));
    expect(response.status).toBe(400);
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    await session.send();
    expect(await stream.line()).toBe('a[]');
  });

  it('with a message that is too long ends the session with 1009', async () => {
    using given = await opened(server);
    const { session, stream } = given;
    expect(await session.send('x'.repeat(FRAME_BYTES + 1))).toBe(413);
    expect(await stream.line()).toStartWith('c[1009,');
    await stream.ended();
    expect(await session.send()).toBe(404);
  });

  it('with a body that is too long ends the session with 1009', async () => {
    using given = await opened(server);
    const { session, stream } = given;
    const { status } = await session.sendBody(`["${'x'.repeat(2 * FRAME_BYTES + 1024)}"]`);
    expect(status).toBe(413);
    expect(await stream.line()).toStartWith('c[1009,');
  });

  it('of the longest message is accepted, however it is escaped', async () => {
    using given = await opened(server);
    const { session, stream } = given;
    const ping = '{"event":"pusher:ping","data":{"text":""}}';
    const longest = ping.replace('""', `"${'\\"'.repeat((FRAME_BYTES - ping.length) / 2)}"`);
    expect(await session.send(longest)).toBe(204);
    expect((await stream.messages())[0]?.event).toBe('pusher:pong');
  });
});

describe('a page of another site', () => {
  it.each(['xhr_streaming', 'xhr', 'xhr_send'])('may send to %s', async (end) => {
    const url = `http://127.0.0.1:${server.port}/pusher/app/nobody/1/none/${end}?t=1&n=1`;
    const preflight = await fetch(url, { method: 'OPTIONS' });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*');
    expect(preflight.headers.get('access-control-allow-methods')).toBe('POST');
    expect(preflight.headers.get('access-control-allow-headers')).toBe('content-type');
    expect(await preflight.text()).toBe('');
  });

  it('may not use another method', async () => {
    const response = await fetch(`${new SessionRequests(server).base}/xhr`);
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('OPTIONS, POST');
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
  });

  it.each(['info', 'app/k/1/s', 'app/k/1/s/eventsource', 'app/k/1/s.s/xhr', 'iframe.html'])(
    'finds nothing at /pusher/%s',
    async (path) => {
      const response = await fetch(`http://127.0.0.1:${server.port}/pusher/${path}`, {
        method: 'POST',
      });
      expect(response.status).toBe(404);
      expect(response.headers.get('access-control-allow-origin')).toBe('*');
    },
  );
});

describe('statistics of pusher-js', () => {
  it('are answered with an empty script for pages', async () => {
    const url = `http://127.0.0.1:${server.port}/timeline/v2/jsonp/1?session=MQ%3D%3D&key=a2V5`;
    const response = await fetch(url);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toStartWith('text/javascript');
    expect(await response.text()).toBe('');
  });

  it('are answered with an object for all others', async () => {
    const response = await fetch(`http://127.0.0.1:${server.port}/timeline/v2/xhr/2?session=MQ`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(await response.text()).toBe('{}');
  });

  it('are counted, as fallback connections are', async () => {
    using _stream = await new SessionRequests(server).stream();
    await new SessionRequests(server).pollOpen();
    const metrics = await (await fetch(`http://127.0.0.1:${server.adminPort}/metrics`)).text();
    for (const line of [
      /^fanfare_statistics_reports_total\{transport="jsonp"\} [1-9]/m,
      /^fanfare_statistics_reports_total\{transport="xhr"\} [1-9]/m,
      /^fanfare_fallback_connections_opened_total\{transport="xhr_streaming"\} [1-9]/m,
      /^fanfare_fallback_connections_opened_total\{transport="xhr_polling"\} [1-9]/m,
      /^fanfare_fallback_connections [1-9]/m,
    ]) {
      expect(metrics).toMatch(line);
    }
  });
});

describe('clients of both kinds in one channel', () => {
  it('get the same events, but not their own', async () => {
    const channel = fresh('private-');
    await using socket = await RawClient.connect(server, { transport: 'ws' });
    await socket.subscribe(channel, channelAuth(socket.socketId, channel));
    using given = await opened(server);
    const { session, stream, socketId } = given;
    await session.send(subscribe(channel, channelAuth(socketId, channel)));
    await stream.messages();

    await trigger(server, {
      name: 'for-the-stream',
      channel,
      data: '',
      socket_id: socket.socketId,
    });
    await trigger(server, { name: 'for-the-socket', channel, data: '', socket_id: socketId });
    await session.send({ event: 'client-from-the-stream', channel, data: '' });

    expect((await socket.receive()).event).toBe('for-the-socket');
    expect((await socket.receive()).event).toBe('client-from-the-stream');
    await session.send();
    expect((await stream.messages()).map(({ event }) => event)).toEqual(['for-the-stream']);
  });
});

describe('a server that stops', () => {
  it('ends streams and held polls', async () => {
    const stopping = await startFanfare();
    const [streaming, polling] = [new SessionRequests(stopping), new SessionRequests(stopping)];
    using stream = await streaming.stream();
    await stream.opens();
    await polling.pollOpen();
    const poll = polling.poll();
    await polling.send({ event: 'pusher:pong' });

    const stopped = stopping.stop();

    const last = (text: string) => text.trimEnd().split('\n').at(-1);
    await stream.ended();
    // 4200 if there are others.
    expect(last(stream.text)).toMatch(/^c\[4[12]00,/);
    expect(last((await poll).text)).toMatch(/^c\[4[12]00,/);
    expect(await stopped).toBe(0);
    await stopping[Symbol.asyncDispose]();
  });
});

describe('a server with a path prefix', () => {
  it('finds sessions behind it, with and without /pusher', async () => {
    await using prefixed = await startFanfare({ channels: { pathPrefix: '/rt' } });
    for (const prefix of ['/rt/pusher', '/rt', '/pusher']) {
      using stream = await new SessionRequests(prefixed, { prefix, key: APP.key }).stream();
      await stream.opens();
    }
  });
});

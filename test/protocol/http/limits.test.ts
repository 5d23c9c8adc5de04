import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import {
  authParameters,
  type Style,
  signedQuery,
  styles,
} from '../../../src/transports/channels-api/library-signing.fixture.ts';
import { RawHttp } from '../../../testing/clients/raw-http.ts';
import { signedTarget } from '../../../testing/clients/sign.ts';
import { APP, type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import {
  batches,
  EMPTY,
  posts,
  refused,
  seen,
  subscriber,
  TEXT_TYPE,
  triggers,
} from './exchange.ts';

const tooLarge = (bytesMax: number) =>
  refused(
    413,
    `The data content of this event exceeds the allowed maximum (${bytesMax} bytes). See https://pusher.com/docs/channels/server_api/http-api#publishing-events for more info`,
  );

/** JSON text of this many bytes that is not a string. */
const arrayText = (bytes: number) => `[${' '.repeat(bytes - 2)}]`;

describe('the default limits of an app', () => {
  let server: Fanfare;
  beforeAll(async () => {
    server = await startFanfare();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const most: readonly (readonly [what: string, data: string])[] = [
    ['ASCII', 'x'.repeat(10_240)],
    ['two-byte characters', 'é'.repeat(5120)],
    ['four-byte characters', '🎺'.repeat(2560)],
    ['characters that JSON escapes', '"\\\n\u0000'.repeat(2560)],
  ];
  it.each(most)('accept 10240 bytes of data: %s', async (_, data) => {
    await using client = await subscriber(server, 'size');
    expect(await triggers(server, { name: 'n', channel: 'size', data })).toEqual(EMPTY);
    expect(await client.receive()).toMatchObject({ data });
  });

  it.each(most)('refuse 10241 bytes of data, and send nothing: %s', async (_, data) => {
    await using client = await subscriber(server, 'size');
    const event = { name: 'n', channel: 'size', data: `${data}x` };
    expect(await triggers(server, event)).toEqual(tooLarge(10_240));
    await client.receiveNothing();
  });

  it('count the bytes of the JSON text if data is not a string', async () => {
    await using client = await subscriber(server, 'size-raw');
    const event = (bytes: number) => `{"name":"n","channel":"size-raw","data":${arrayText(bytes)}}`;
    expect(await triggers(server, event(10_240))).toEqual(EMPTY);
    expect(await client.receive()).toMatchObject({ data: arrayText(10_240) });
    expect(await triggers(server, event(10_241))).toEqual(tooLarge(10_240));
    await client.receiveNothing();
  });

  it('accept ten events of 10240 bytes in one batch', async () => {
    await using client = await subscriber(server, 'size-batch');
    const event = { name: 'n', channel: 'size-batch', data: 'x'.repeat(10_240) };
    expect(await batches(server, Array(10).fill(event))).toEqual(EMPTY);
    for (let at = 0; at < 10; at++) expect(await client.receive()).toMatchObject({ event: 'n' });
  });

  it('refuse a whole batch because of one large event', async () => {
    await using client = await subscriber(server, 'size-whole');
    const event = { name: 'n', channel: 'size-whole', data: 'd' };
    expect(await batches(server, [event, event, { ...event, data: 'x'.repeat(10_241) }])).toEqual(
      tooLarge(10_240),
    );
    await client.receiveNothing();
  });

  it('accept 100 channels in one trigger, and refuse 101', async () => {
    const names = Array.from({ length: 101 }, (_, at) => `many-${at}`);
    await using client = await subscriber(server, 'many-0', 'many-99', 'many-100');
    const event = { name: 'n', data: 'd' };
    expect(await triggers(server, { ...event, channels: names.slice(0, 100) })).toEqual(EMPTY);
    expect(await client.receive()).toMatchObject({ channel: 'many-0' });
    expect(await client.receive()).toMatchObject({ channel: 'many-99' });
    expect(await triggers(server, { ...event, channels: names })).toEqual(
      refused(400, 'channels: at most 100 channels per trigger, got 101'),
    );
    await client.receiveNothing();
  });

  it('accept 100 channels in the query of a trigger, with all its other parameters', async () => {
    const names = Array.from({ length: 101 }, (_, at) => `query-many-${at}`);
    await using client = await subscriber(server, 'query-many-99');
    const [seconds, body] = [Math.floor(Date.now() / 1000), '{"data":"d"}'];
    const sends = async (style: Style, channels: readonly string[]) => {
      const path = `/apps/${APP.id}/events`;
      const query = signedQuery(style, APP.secret, 'POST', path, [
        ...authParameters(APP.key, seconds, body),
        ['name', 'n'],
        ['socket_id', '1.2'],
        ['info', 'user_count'],
        ['idempotency_key', crypto.randomUUID()],
        ['channels', channels],
      ]);
      const url = `http://127.0.0.1:${server.port}${path}?${query}`;
      return await seen(await fetch(url, { method: 'POST', body }));
    };
    for (const style of styles) {
      expect(await sends(style, names.slice(0, 100))).toMatchObject({ status: 200 });
      expect(await client.receive()).toMatchObject({ event: 'n', channel: 'query-many-99' });
      expect(await sends(style, names)).toEqual(
        refused(400, 'channels: at most 100 channels per trigger, got 101'),
      );
    }
    await client.receiveNothing();
  });

  it('accept 10 events in one batch, and refuse 11', async () => {
    await using client = await subscriber(server, 'eleven');
    const event = { name: 'n', channel: 'eleven', data: 'd' };
    expect(await batches(server, Array(10).fill(event))).toEqual(EMPTY);
    for (let at = 0; at < 10; at++) await client.receive();
    expect(await batches(server, Array(11).fill(event))).toEqual(
      // Tests of pusher-http-php look for these words.
      refused(400, 'Batch too large (> 10 events): got 11'),
    );
    await client.receiveNothing();
  });

  it('accept 200 characters in the name of an event, and refuse 201', async () => {
    const event = { channel: 'a', data: 'd' };
    // An emoji is one character, as for most libraries, although it takes two units of UTF-16.
    for (const name of ['é'.repeat(200), '🎉'.repeat(200)]) {
      expect(await triggers(server, { ...event, name })).toEqual(EMPTY);
      expect(await triggers(server, { ...event, name: `${name}x` })).toEqual(
        refused(400, 'name: at most 200 characters, got 201'),
      );
      expect(await batches(server, [{ ...event, name: `${name}x` }])).toEqual(
        refused(400, 'batch[0].name: at most 200 characters, got 201'),
      );
    }
  });

  it.each(['', 'private-', 'presence-', 'private-encrypted-cache-', '#server-to-user-'])(
    'accept 200 characters in the name of a channel with the prefix "%s", and refuse 201',
    async (prefix) => {
      const event = { name: 'n', data: 'd' };
      const channel = prefix.padEnd(200, 'x');
      expect(await triggers(server, { ...event, channel })).toEqual(EMPTY);
      expect(await triggers(server, { ...event, channels: ['a', `${channel}x`] })).toEqual(
        refused(400, expect.stringContaining('channels[1]: Invalid channel name')),
      );
    },
  );

  it('are named in a short refusal even if a value is very long', async () => {
    const long = 'x'.repeat(100_000);
    const event = { name: 'n', channel: 'a', data: 'd' };
    const over = [
      { channel: long },
      { channel: `${long}!` },
      { name: long },
      { socket_id: long },
      { info: long },
    ];
    for (const fields of over) {
      const { status, text } = await triggers(server, { ...event, ...fields });
      expect(status).toBe(400);
      expect(text.length).toBeLessThan(1000);
    }
  });
});

describe('the configured limits of an app', () => {
  let server: Fanfare;
  beforeAll(async () => {
    server = await startFanfare({
      app: { limits: { eventDataBytes: 20_480, channelsPerTrigger: 2, eventsPerBatch: 3 } },
      channels: { requestBytes: 40_000 },
    });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it('apply to the data', async () => {
    const event = { name: 'n', channel: 'a' };
    expect(await triggers(server, { ...event, data: 'x'.repeat(20_480) })).toEqual(EMPTY);
    expect(await triggers(server, { ...event, data: 'x'.repeat(20_481) })).toEqual(
      tooLarge(20_480),
    );
    expect(await batches(server, [{ ...event, data: 'x'.repeat(20_481) }])).toEqual(
      tooLarge(20_480),
    );
    expect(
      await posts(server, '/channels/a/events', 'x'.repeat(20_481), { query: { name: 'n' } }),
    ).toEqual(tooLarge(20_480));
  });

  it('apply to the channels of a trigger', async () => {
    const event = { name: 'n', data: 'd' };
    expect(await triggers(server, { ...event, channels: ['a', 'b'] })).toEqual(EMPTY);
    expect(await triggers(server, { ...event, channels: ['a', 'b', 'c'] })).toEqual(
      refused(400, 'channels: at most 2 channels per trigger, got 3'),
    );
  });

  it('apply to the events of a batch', async () => {
    const event = { name: 'n', channel: 'a', data: 'd' };
    expect(await batches(server, Array(3).fill(event))).toEqual(EMPTY);
    expect(await batches(server, Array(4).fill(event))).toEqual(
      refused(400, 'Batch too large (> 3 events): got 4'),
    );
  });
});

describe('channels.requestBytes', () => {
  const MAX = 4096;
  const TOO_LARGE = {
    status: 413,
    body: 'The body of the request exceeds the allowed maximum (4096 bytes)',
  };
  let server: Fanfare;
  beforeAll(async () => {
    server = await startFanfare({ channels: { requestBytes: MAX } });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  /** A valid trigger whose body has this many bytes. */
  const bodyOf = (bytes: number) =>
    '{"name":"n","channel":"a","data":"d","pad":""}'.replace(
      '""',
      `"${'x'.repeat(bytes - '{"name":"n","channel":"a","data":"d","pad":""}'.length)}"`,
    );
  const targetOf = (body: string) => signedTarget('POST', `/apps/${APP.id}/events`, { body });
  /** In chunks of 1000 bytes. */
  const chunksOf = (body: string) => body.match(/.{1,1000}/g) ?? [];

  it('accepts a body of that size with a length and in chunks', async () => {
    const body = bodyOf(MAX);
    const request = { method: 'POST', target: targetOf(body) };
    await using connection = await RawHttp.open(server);
    expect(await connection.request({ ...request, body })).toMatchObject({
      status: 200,
      body: '{}',
    });
    expect(await connection.request({ ...request, chunks: chunksOf(body) })).toMatchObject({
      status: 200,
      body: '{}',
    });
  });

  it.each([MAX + 1, 10 * MAX, 5_000_000])(
    'refuses a body of %d bytes with its length, and closes the connection',
    async (bytes) => {
      const body = bodyOf(bytes);
      await using connection = await RawHttp.open(server);
      const answer = await connection.request({ method: 'POST', target: targetOf(body), body });
      expect(answer).toMatchObject(TOO_LARGE);
      expect(answer.headers.get('content-type')).toBe(TEXT_TYPE);
      expect(answer.headers.get('connection')).toBe('close');
      await connection.untilEnd();
    },
  );

  it.each([MAX + 1, 10 * MAX, 5_000_000])(
    'refuses a body of %d bytes in chunks, and closes the connection',
    async (bytes) => {
      const body = bodyOf(bytes);
      await using connection = await RawHttp.open(server);
      const target = targetOf(body);
      const answer = await connection.request({ method: 'POST', target, chunks: chunksOf(body) });
      expect(answer).toMatchObject(TOO_LARGE);
      expect(answer.headers.get('content-type')).toBe(TEXT_TYPE);
      await connection.untilEnd();
    },
  );

  it('refuses a body before it is sent', async () => {
    await using connection = await RawHttp.open(server);
    connection.write(
      `POST /apps/3/events HTTP/1.1\r\nHost: x\r\nContent-Length: ${MAX + 1}\r\n\r\n`,
    );
    expect(await connection.read()).toMatchObject(TOO_LARGE);
    await connection.untilEnd();
  });

  it('applies to every endpoint that accepts a body', async () => {
    const body = bodyOf(MAX + 1);
    for (const path of ['/events', '/batch_events', '/channels/a/events']) {
      await using connection = await RawHttp.open(server);
      const target = signedTarget('POST', `/apps/${APP.id}${path}`, { body });
      expect(await connection.request({ method: 'POST', target, body })).toMatchObject(TOO_LARGE);
    }
  });

  it('sends a refusal that the official library can read', async () => {
    const text = TOO_LARGE.body;
    expect(await triggers(server, bodyOf(100_000))).toEqual(refused(413, text));
  });
});

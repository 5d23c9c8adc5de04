import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { clientFrame, RawClient } from '../../../testing/clients/raw-client.ts';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { confirmation, connect, error, fresh, join, leave, PROTOCOLS } from './conversation.ts';

/** Source: Channels protocol, §1 ("Only text frames", "Frames may be fragmented"), §4; RFC 6455. */

const FRAME_BYTES = 2000;

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare({ channels: { clientFrameBytes: FRAME_BYTES } });
});
afterAll(() => server[Symbol.asyncDispose]());

const PING = '{"event":"pusher:ping","data":{}}';
const PONG = '{"event":"pusher:pong","data":"{}"}';
const TEXT = 1;
const CONTINUATION = 0;

function closeFrame(code: number, reason: string): Buffer {
  return clientFrame(
    8,
    Buffer.concat([Buffer.from([code >> 8, code & 0xff]), Buffer.from(reason)]),
  );
}

/** A subscription of exactly this many bytes. */
function subscriptionOf(bytes: number, channel: string): string {
  const shortest = JSON.stringify({ event: 'pusher:subscribe', data: { channel, padding: '' } });
  return shortest.replace('""', `"${'x'.repeat(bytes - shortest.length)}"`);
}

describe.each(PROTOCOLS)('a client of protocol %i', (protocol) => {
  it('is closed with 1003 when it sends a binary frame', async () => {
    await using client = await connect(server, protocol);

    client.writeBytes(clientFrame(2, PING));

    expect(await client.closed).toMatchObject({ code: 1003 });
  });

  it('may send a message in fragments, with a ping between them', async () => {
    await using client = await connect(server, protocol);

    client.writeBytes(clientFrame(TEXT, PING.slice(0, 9), false));
    client.writeBytes(clientFrame(CONTINUATION, '', false));
    client.writeBytes(clientFrame(9, 'in between'));
    client.writeBytes(clientFrame(CONTINUATION, PING.slice(9, 20), false));
    client.writeBytes(clientFrame(CONTINUATION, PING.slice(20)));

    expect(await client.receivePong()).toBe('in between');
    expect(await client.receiveText()).toBe(PONG);
    await client.receiveNothing();
  });

  it('may split a message within a character, and a frame anywhere', async () => {
    await using client = await connect(server, protocol);
    const message = Buffer.from(JSON.stringify({ event: 'pusher:😀é' }));
    const bytes = Buffer.concat(
      Array.from(message, (byte, at) =>
        clientFrame(at === 0 ? TEXT : CONTINUATION, Uint8Array.of(byte), at === message.length - 1),
      ),
    );

    client.writeBytes(bytes.subarray(0, 33));
    client.writeBytes(bytes.subarray(33));

    expect(await client.receive()).toEqual(
      error('Unsupported event received on socket: pusher:😀é'),
    );
  });

  it('is answered in order when many frames arrive at once', async () => {
    await using client = await connect(server, protocol);
    const names = Array.from({ length: 100 }, () => fresh());

    client.writeBytes(
      Buffer.concat(
        names.map((channel) =>
          clientFrame(TEXT, JSON.stringify({ event: 'pusher:subscribe', data: { channel } })),
        ),
      ),
    );

    for (const channel of names) expect(await client.receive()).toEqual(confirmation(channel));
  });

  it('gets a pong for each WebSocket ping, with the same payload', async () => {
    await using client = await connect(server, protocol);

    for (const payload of ['', 'are you there?', '\u00e9'.repeat(62)]) {
      client.writeBytes(clientFrame(9, payload));
      expect(await client.receivePong()).toBe(payload);
    }
    await client.receiveNothing();
  });

  it('may send an unsolicited WebSocket pong', async () => {
    await using client = await connect(server, protocol);

    client.writeBytes(clientFrame(10, 'unasked'));

    await client.receiveNothing();
  });

  it('gets its close echoed, and the connection ends', async () => {
    for (const [code, reason] of [
      [1000, ''],
      [1001, 'going away'],
      [4321, 'a code of its own'],
    ] as const) {
      await using client = await connect(server, protocol);

      client.writeBytes(closeFrame(code, reason));

      expect(await client.closed).toEqual({ code, reason });
    }
  });

  it('may close without a code', async () => {
    await using client = await connect(server, protocol);

    client.writeBytes(clientFrame(8, ''));

    expect(await client.closed).toEqual({ code: undefined, reason: '' });
  });

  it('is not answered after its close', async () => {
    await using client = await connect(server, protocol);

    client.writeBytes(Buffer.concat([closeFrame(1000, ''), clientFrame(TEXT, PING)]));

    expect(await client.closed).toMatchObject({ code: 1000 });
    expect(client.receiveText()).rejects.toThrow('ended');
  });

  it('may send a frame as large as the limit', async () => {
    await using client = await connect(server, protocol);
    const channel = fresh();

    client.send(subscriptionOf(FRAME_BYTES, channel));

    expect(await client.receive()).toEqual(confirmation(channel));
  });

  it('is closed with 1009 when a frame is larger', async () => {
    await using client = await connect(server, protocol);

    client.send(subscriptionOf(FRAME_BYTES + 1, fresh()));

    expect(await client.closed).toMatchObject({ code: 1009 });
  });

  it('is closed with 1009 when its fragments together are larger', async () => {
    await using client = await connect(server, protocol);
    const message = subscriptionOf(FRAME_BYTES + 1, fresh());

    client.writeBytes(clientFrame(TEXT, message.slice(0, 1500), false));
    client.writeBytes(clientFrame(CONTINUATION, message.slice(1500)));

    expect(await client.closed).toMatchObject({ code: 1009 });
  });

  it.each([
    ['text that is not UTF-8', clientFrame(TEXT, Uint8Array.of(0x22, 0xc3, 0x22)), 1007],
    ['a frame without a mask', Uint8Array.of(0x81, 2, 0x7b, 0x7d), 1002],
    ['an opcode that does not exist', clientFrame(3, ''), 1002],
    ['a continuation of nothing', clientFrame(CONTINUATION, 'x'), 1002],
    ['a fragmented ping', clientFrame(9, 'x', false), 1002],
    ['a second beginning', Buffer.concat(Array(2).fill(clientFrame(TEXT, '{', false))), 1002],
  ])('is closed when it sends %s', async (_, bytes, code) => {
    await using client = await connect(server, protocol);

    client.writeBytes(bytes);

    expect(await client.closed).toMatchObject({ code });
  });

  it.each([
    '',
    'hello',
    '{',
    'null',
    '7',
    '"pusher:ping"',
    '[]',
    '[{"event":"pusher:ping"}]',
    '{}',
    '{"data":{}}',
    '{"event":null}',
    '{"event":["pusher:ping"]}',
    '{"event":"pusher:ping"} {}',
    "{'event':'pusher:ping'}",
    '\ufeff{"event":"pusher:ping"}',
  ])('gets an error for a frame that is not a message, and stays connected: %s', async (text) => {
    await using client = await connect(server, protocol);

    client.send(text);

    expect(await client.receive()).toEqual(error(expect.stringMatching(/^Invalid message: /)));
    await client.receiveNothing();
  });

  it('leaves the channels that it was in when its connection breaks', async () => {
    await using watcher = await connect(server, protocol);
    const channel = fresh('presence-');
    await join(watcher, channel, '{"user_id":"watcher"}');
    const client = await connect(server, protocol);
    await join(client, channel, '{"user_id":"client"}');
    expect(await watcher.receive()).toMatchObject({ event: 'pusher_internal:member_added' });

    client.writeBytes(clientFrame(TEXT, '{"event":', false));
    await client[Symbol.asyncDispose]();

    expect(await watcher.receive()).toMatchObject({ event: 'pusher_internal:member_removed' });
  });
});

describe('a client that was refused', () => {
  it('gets no answer to what it sends before it reads the refusal', async () => {
    await using client = await RawClient.open(server, { path: '/app/nobodys-key?protocol=7' });
    client.writeBytes(clientFrame(2, 'binary'));
    client.send({ event: 'pusher:subscribe', data: { channel: fresh() } });

    expect(await client.receive()).toMatchObject({ event: 'pusher:error', data: { code: 4001 } });
    expect(await client.closed).toMatchObject({ code: 4001 });
    await using other = await connect(server);
    await leave(other);
  });
});

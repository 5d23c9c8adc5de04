import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { constants, deflateRawSync } from 'node:zlib';
import { admin, everyServerTakes } from '../../../testing/clients/admin-api.ts';
import { COMPRESSED, clientFrame, pathOf, RawClient } from '../../../testing/clients/raw-client.ts';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { type AppClient, newApp, type TestApp } from '../../../testing/servers/test-app.ts';

/** Source: RFC 7692; streams, §5. */

const FRAME_BYTES = 20_000;
const TEXT = 1;
const CONTINUATION = 0;

/** What browsers offer. */
const OFFER = 'permessage-deflate; client_max_window_bits';
const AGREED = 'permessage-deflate; client_no_context_takeover; server_no_context_takeover';

/** JSON such as a list of orders, with 9 kB. */
const orders = JSON.stringify(
  Array.from({ length: 136 }, (_, at) => ({
    id: 48_200 + at * 7,
    customer: `customer-${(at * 7_919) % 1_000}`,
    state: at % 3 === 0 ? 'paid' : 'open',
    total: (at * 31) % 977,
  })),
);

let server: Fanfare;
let plain: TestApp;
let compressing: TestApp;
beforeAll(async () => {
  server = await startFanfare({
    onlyOne: 'figures',
    channels: { clientFrameBytes: FRAME_BYTES },
  });
  const limits = { eventDataBytes: 1_000_000 };
  plain = await newApp(server, { limits });
  compressing = await newApp(server, { limits, clientEvents: true, compressAboveBytes: 1_024 });
});
afterAll(() => server[Symbol.asyncDispose]());

const offering = (app: TestApp, offer = OFFER) =>
  app.connect({ headers: { 'sec-websocket-extensions': offer } });

function agreedOf({ responseHead }: RawClient): string | undefined {
  return /^sec-websocket-extensions: (.*)$/im.exec(responseHead)?.[1]?.trim();
}

/** What a client sends that compresses. */
function deflated(text: string): Buffer {
  const bytes = deflateRawSync(text, { finishFlush: constants.Z_SYNC_FLUSH });
  return bytes.subarray(0, -4);
}

/** What each client gets of an event with all orders, and the bytes that it took. */
async function listOrders(app: TestApp, clients: readonly AppClient[]) {
  const before = clients.map(({ receivedBytes, compressedFrames }) => ({
    bytes: receivedBytes,
    compressed: compressedFrames,
  }));
  await app.trigger({ name: 'listed', channel: 'orders', data: orders });
  return await Promise.all(
    clients.map(async (client, at) => {
      const text = await client.receiveText();
      return {
        text,
        bytes: client.receivedBytes - (before[at]?.bytes ?? 0),
        isCompressed: client.compressedFrames > (before[at]?.compressed ?? 0),
      };
    }),
  );
}

async function deliveries(result: 'compressed' | 'over-budget'): Promise<number> {
  const { text } = await admin(server, 'GET', '//metrics');
  const line = new RegExp(`^fanfare_frames_compressed_total\\{result="${result}"\\} (.*)$`, 'm');
  return Number(line.exec(text)?.[1] ?? Number.NaN);
}

describe('an app without compressAboveBytes', () => {
  it('agrees to no extension, and sends the bytes that it sends to everybody', async () => {
    await using offers = await offering(plain);
    await using without = await plain.connect();
    expect(agreedOf(offers)).toBeUndefined();
    const head = (client: RawClient) => client.responseHead.replace(/^date: .*$/im, '');
    expect(head(offers)).toBe(head(without));
    for (const client of [offers, without]) await client.subscribe('orders');
    const [first, second] = await listOrders(plain, [offers, without]);
    expect(first).toEqual(second);
    expect(first?.isCompressed).toBe(false);
    expect(first?.bytes).toBe(Buffer.byteLength(first?.text ?? '') + 4);
  });

  it('ends a connection that sends compressed frames all the same', async () => {
    await using client = await offering(plain);
    client.writeBytes(
      clientFrame(COMPRESSED | TEXT, deflated('{"event":"pusher:ping","data":{}}')),
    );
    await client.closed;
    await expect(client.receiveText()).rejects.toThrow('ended');
  });
});

describe('an app with compressAboveBytes', () => {
  it.each([
    [OFFER, AGREED],
    ['permessage-deflate', AGREED],
    [undefined, undefined],
    ['permessage-deflate; server_max_window_bits=10', undefined],
    ['x-webkit-deflate-frame', undefined],
  ])('answers an offer of %p with %p', async (offer, agreed) => {
    const headers: Record<string, string> =
      offer === undefined ? {} : { 'sec-websocket-extensions': offer };
    await using client = await compressing.connect({ headers });
    expect(agreedOf(client)).toBe(agreed);
  });

  it('agrees to none with a client that it refuses', async () => {
    const headers = { 'sec-websocket-extensions': OFFER };
    const path = pathOf(3, compressing.key);
    await using client = await RawClient.open(server, { path, headers });
    expect(agreedOf(client)).toBeUndefined();
    expect(await client.closed).toMatchObject({ code: 4007 });
  });

  it('sends large events in a quarter of the bytes to those who agreed, and the same text to all', async () => {
    await using offers = await offering(compressing);
    await using without = await compressing.connect();
    for (const client of [offers, without]) await client.subscribe('orders');
    // What only this connection gets is never compressed.
    expect(offers.compressedFrames).toBe(0);
    const before = await deliveries('compressed');
    expect(Buffer.byteLength(orders)).toBeWithin(8_500, 9_500);
    const [small, large] = await listOrders(compressing, [offers, without]);
    expect(small?.text).toBe(large?.text ?? '');
    expect(JSON.parse(small?.text ?? '')).toMatchObject({ event: 'listed', data: orders });
    expect([small?.isCompressed, large?.isCompressed]).toEqual([true, false]);
    expect(small?.bytes).toBeLessThanOrEqual((large?.bytes ?? 0) / 4);
    expect(await deliveries('compressed')).toBe(before + 2);
  });

  it('sends smaller ones as they are, and keeps the order', async () => {
    await using client = await offering(compressing);
    await client.subscribe('mixed');
    const sizes = [10, 2_000, 20, 900, 3_000, 1_024, 30];
    await Promise.all(
      sizes.map((size, at) =>
        compressing.trigger({ name: `${at}`, channel: 'mixed', data: 'x'.repeat(size) }),
      ),
    );
    const events = [];
    for (const _ of sizes) events.push(await client.receive());
    for (const { event, data } of events) {
      expect(String(data)).toHaveLength(sizes[Number(event)] ?? 0);
    }
    expect(client.compressedFrames).toBe(3);
    for (let at = 0; at < 20; at++) {
      const data = 'y'.repeat(at % 2 === 0 ? 5_000 : 5);
      await compressing.trigger({ name: `${at}`, channel: 'mixed', data });
    }
    for (let at = 0; at < 20; at++) expect((await client.receive()).event).toBe(`${at}`);
  });

  it('counts the bytes of the frame: from this many on it is compressed', async () => {
    await using client = await offering(compressing);
    await client.subscribe('exact');
    const shortest = { event: 'e', channel: 'exact', data: '' };
    const room = 1_024 - JSON.stringify(shortest).length;
    for (const length of [room - 1, room]) {
      await compressing.trigger({ name: 'e', channel: 'exact', data: 'z'.repeat(length) });
      await client.receiveText();
    }
    expect(client.compressedFrames).toBe(1);
  });

  it('compresses client events for the others', async () => {
    await using sender = await offering(compressing);
    await using other = await offering(compressing);
    for (const client of [sender, other]) {
      await client.subscribe('private-a', compressing.auth(client, 'private-a'));
    }
    const data = 'typed '.repeat(500);
    sender.send({ event: 'client-typed', channel: 'private-a', data });
    expect(await other.receive()).toMatchObject({ event: 'client-typed', data });
    expect(other.compressedFrames).toBe(1);
    await sender.receiveNothing();
  });

  it('reads compressed frames, in fragments too', async () => {
    await using client = await offering(compressing);
    const ping = '{"event":"pusher:ping","data":{}}';
    const pong = '{"event":"pusher:pong","data":"{}"}';
    client.writeBytes(clientFrame(COMPRESSED | TEXT, deflated(ping)));
    expect(await client.receiveText()).toBe(pong);

    const bytes = deflated(ping);
    client.writeBytes(clientFrame(COMPRESSED | TEXT, bytes.subarray(0, 5), false));
    client.writeBytes(clientFrame(9, 'in between'));
    client.writeBytes(clientFrame(CONTINUATION, bytes.subarray(5, 9), false));
    client.writeBytes(clientFrame(CONTINUATION, bytes.subarray(9)));
    expect(await client.receivePong()).toBe('in between');
    expect(await client.receiveText()).toBe(pong);
    // And as they are.
    client.writeBytes(clientFrame(TEXT, ping.slice(0, 9), false));
    client.writeBytes(clientFrame(CONTINUATION, ping.slice(9)));
    expect(await client.receiveText()).toBe(pong);
  });

  it('holds clientFrameBytes for what a frame inflates to', async () => {
    const subscription = (bytes: number) => {
      const data = { channel: 'padded', padding: '' };
      const shortest = JSON.stringify({ event: 'pusher:subscribe', data });
      return shortest.replace('""', `"${'x'.repeat(bytes - shortest.length)}"`);
    };
    await using client = await offering(compressing);
    client.writeBytes(clientFrame(COMPRESSED | TEXT, deflated(subscription(FRAME_BYTES))));
    expect((await client.receive()).event).toBe('pusher_internal:subscription_succeeded');
    client.writeBytes(clientFrame(COMPRESSED | TEXT, deflated(subscription(FRAME_BYTES + 1))));
    await client.closed;

    // 9 MB in 9 kB.
    await using bomb = await offering(compressing);
    bomb.writeBytes(clientFrame(COMPRESSED | TEXT, deflated('x'.repeat(9_000_000))));
    await bomb.closed;
    await using garbled = await offering(compressing);
    garbled.writeBytes(clientFrame(COMPRESSED | TEXT, 'this is not what deflate makes'));
    await garbled.closed;
    await using next = await offering(compressing);
    await next.receiveNothing();
  });

  it('can be changed while clients are connected', async () => {
    const app = await newApp(server, {});
    const change = async (compressAboveBytes: number) => {
      const body = { compressAboveBytes };
      expect((await admin(server, 'PATCH', `/apps/${app.id}`, { body })).status).toBe(200);
      await everyServerTakes(server, `/apps/${app.id}`);
    };
    const list = async (clients: readonly AppClient[]) =>
      (await listOrders(app, clients)).map(({ isCompressed }) => isCompressed);
    await using early = await offering(app);
    await change(1);
    await using late = await offering(app);
    for (const client of [early, late]) await client.subscribe('orders');
    expect(await list([early, late])).toEqual([false, true]);
    await change(0);
    expect(await list([early, late])).toEqual([false, false]);
    late.writeBytes(clientFrame(COMPRESSED | TEXT, deflated('{"event":"pusher:ping","data":{}}')));
    expect((await late.receive()).event).toBe('pusher:pong');
  });
});

it('sends a flood over many receivers as it is, and serves other apps meanwhile', async () => {
  const receivers = await Promise.all(Array.from({ length: 60 }, () => offering(compressing)));
  await using neighbour = await plain.connect();
  await neighbour.subscribe('quiet');
  for (const receiver of receivers) await receiver.subscribe('flood');
  const before = await deliveries('over-budget');
  // To compress one of them for all would take longer than the budget allows at once.
  const data = orders.repeat(8);
  const flood = Array.from({ length: 8 }, (_, at) =>
    compressing.trigger({ name: `${at}`, channel: 'flood', data }),
  );
  await plain.trigger({ name: 'said', channel: 'quiet', data: 'hello' });
  expect(await neighbour.receive()).toMatchObject({ event: 'said', data: 'hello' });
  await Promise.all(flood);
  for (const receiver of receivers) {
    for (const _ of flood) expect(await receiver.receive()).toMatchObject({ data });
    expect(receiver.compressedFrames).toBe(0);
    await receiver[Symbol.asyncDispose]();
  }
  expect(await deliveries('over-budget')).toBe(before + flood.length * receivers.length);
});

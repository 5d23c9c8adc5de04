import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { clientOnFakes, inShort, paths } from './client.fixture.ts';
import { ERROR, FLAG, FRAME, SETTING } from './frames/protocol.ts';
import { plainBlock } from './hpack/header-encoder.ts';
import type { FakeLine } from './network.fixture.ts';

/** A client with one request in flight to a peer. */
async function asked() {
  const fakes = clientOnFakes({ connectionsMax: 1 });
  const results = fakes.post('/a');
  await fakes.settled();
  return { ...fakes, results, line: fakes.network.last };
}

const uint32 = (value: number) => Buffer.from(value.toString(16).padStart(8, '0'), 'hex');
const setting = (name: number, value: number) =>
  Buffer.concat([Buffer.from([0, name]), uint32(value)]);
const ok = plainBlock({ ':status': '200' });

type Send = (line: FakeLine) => void;
const frame =
  (type: number, flags: number, id: number, payload: Buffer): Send =>
  (line) =>
    line.sendFrame(type, flags, id, payload);

const many =
  (count: number, send: Send): Send =>
  (line) => {
    for (let n = 0; n < count; n++) send(line);
  };

describe('a peer that breaks the protocol', () => {
  const wrong: readonly (readonly [what: string, code: number, send: Send])[] = [
    ['pushes', ERROR.protocolError, frame(FRAME.pushPromise, FLAG.endHeaders, 1, Buffer.alloc(4))],
    ['answers a stream that was not opened', ERROR.protocolError, (line) => line.answer(3)],
    ['answers an even stream', ERROR.protocolError, (line) => line.answer(2)],
    ['answers stream 0', ERROR.protocolError, (line) => line.answer(0)],
    [
      'sends more padding than header',
      ERROR.protocolError,
      frame(FRAME.headers, FLAG.padded | FLAG.endHeaders, 1, Buffer.from([9, 0x88])),
    ],
    [
      'sends more padding than body',
      ERROR.protocolError,
      frame(FRAME.data, FLAG.padded, 1, Buffer.from([9, 0x88])),
    ],
    [
      'sends a header that cannot be read',
      ERROR.compressionError,
      frame(FRAME.headers, FLAG.endHeaders, 1, Buffer.from([0x80])),
    ],
    [
      'interrupts a header',
      ERROR.protocolError,
      (line) => {
        line.sendFrame(FRAME.headers, 0, 1, ok);
        line.ping();
      },
    ],
    ['continues nothing', ERROR.protocolError, frame(FRAME.continuation, FLAG.endHeaders, 1, ok)],
    [
      'never ends a header',
      ERROR.enhanceYourCalm,
      (line) => {
        line.sendFrame(FRAME.headers, 0, 1, ok);
        for (let part = 0; part < 40_000; part++) {
          line.sendFrame(FRAME.continuation, 0, 1, Buffer.alloc(0));
        }
      },
    ],
    [
      'pings without end',
      ERROR.enhanceYourCalm,
      many(3_000, frame(FRAME.ping, 0, 0, Buffer.alloc(8))),
    ],
    [
      'sends unknown frames without end',
      ERROR.enhanceYourCalm,
      many(3_000, frame(99, 0, 0, Buffer.alloc(0))),
    ],
    [
      'changes its settings without end',
      ERROR.enhanceYourCalm,
      frame(
        FRAME.settings,
        0,
        0,
        Buffer.concat(Array(2_500).fill(setting(SETTING.initialWindowSize, 1))),
      ),
    ],
    ['sends half a setting', ERROR.frameSizeError, frame(FRAME.settings, 0, 0, Buffer.alloc(5))],
    [
      'sends settings of a stream',
      ERROR.protocolError,
      frame(FRAME.settings, 0, 1, Buffer.alloc(6)),
    ],
    [
      'opens a window too far',
      ERROR.flowControlError,
      frame(FRAME.settings, 0, 0, setting(SETTING.initialWindowSize, 2 ** 31)),
    ],
    [
      'wants frames of no size',
      ERROR.protocolError,
      frame(FRAME.settings, 0, 0, setting(SETTING.maxFrameSize, 100)),
    ],
    [
      'opens the window too far',
      ERROR.flowControlError,
      (line) => line.windowUpdate(0, 2 ** 31 - 1),
    ],
    ['opens the window by nothing', ERROR.flowControlError, (line) => line.windowUpdate(0, 0)],
    ['sends half a ping', ERROR.frameSizeError, frame(FRAME.ping, 0, 0, Buffer.alloc(4))],
    ['sends half a reset', ERROR.frameSizeError, frame(FRAME.reset, 0, 1, Buffer.alloc(3))],
    ['sends half a GOAWAY', ERROR.frameSizeError, frame(FRAME.goAway, 0, 0, Buffer.alloc(7))],
    [
      'sends a frame that is too large',
      ERROR.frameSizeError,
      frame(99, 0, 0, Buffer.alloc(16_385)),
    ],
  ];

  it.each(wrong)('and %s gets GOAWAY', async (_, code, send) => {
    const { line, results, settled } = await asked();
    send(line);
    await settled();
    expect(line.controlFrames.at(-1)).toBe(`goaway ${code}`);
    expect(line.isClosed).toBe(true);
    expect(inShort(results)).toEqual(['unknown protocol-error']);
  });

  it('and sends data to a stream that is over without end gets GOAWAY', async () => {
    const { line, results, settled } = await asked();
    line.sendFrame(FRAME.reset, 0, 1, uint32(ERROR.cancel));
    many(200, frame(FRAME.data, 0, 1, Buffer.alloc(16_384)))(line);
    await settled();
    expect(line.controlFrames.at(-1)).toBe(`goaway ${ERROR.enhanceYourCalm}`);
    expect(inShort(results)).toEqual(['unknown reset']);
  });

  it.each([
    ['its first frame is no setting', (line: FakeLine) => line.ping()],
    ['it speaks HTTP/1.1', (line: FakeLine) => line.sendFrame(0x2f, 0x31, 0, Buffer.alloc(40))],
  ])('from the start gets no request: %s', async (_, send) => {
    const { network, posted } = clientOnFakes({ connectionsMax: 1 });
    network.onOpen = send;
    await posted('/a');
    expect(network.last.isClosed).toBe(true);
    expect(network.last.requests).toEqual([]);
  });

  const wrongAnswers: readonly (readonly [what: string, send: Send])[] = [
    ['has no status', (line) => line.sendFrame(FRAME.headers, 4, 1, plainBlock({ a: 'b' }))],
    ['has an impossible status', (line) => line.answerInParts(1, [{ ':status': '2000' }])],
    ['ends before it has begun', (line) => line.answerInParts(1, [{ ':status': '100' }])],
    ['begins with its body', (line) => line.answerInParts(1, ['body'])],
    ['opens its window by nothing', (line) => line.windowUpdate(1, 0)],
  ];

  it.each(wrongAnswers)('in one answer gets a reset: it %s', async (_, send) => {
    const { line, results, settled, posted } = await asked();
    send(line);
    await settled();
    expect(inShort(results)).toEqual(['unknown protocol-error']);
    expect(line.resets).toEqual([[1, ERROR.protocolError]]);
    const next = await posted('/b');
    line.answer(3);
    await settled();
    expect(inShort(next)).toEqual(['200']);
  });
});

describe('a peer that keeps the protocol', () => {
  it('may pad frames, send priorities, split headers, and send unknown frames', async () => {
    const { line, results, settled } = await asked();
    const padded = Buffer.concat([Buffer.from([3, 0, 0, 0, 0, 9]), ok, Buffer.alloc(3)]);
    line.sendFrame(99, 255, 1, Buffer.from('whatever'));
    line.sendFrame(FRAME.priority, 0, 1, Buffer.alloc(5));
    line.sendFrame(FRAME.settings, 0, 0, setting(77, 1));
    line.sendFrame(FRAME.headers, FLAG.padded | FLAG.priority, 1, padded);
    line.sendFrame(FRAME.continuation, 0, 1, plainBlock({ a: 'b' }).subarray(0, 2));
    line.sendFrame(FRAME.continuation, FLAG.endHeaders, 1, plainBlock({ a: 'b' }).subarray(2));
    line.sendFrame(FRAME.data, FLAG.padded, 1, Buffer.from([2, 65, 66, 0, 0]));
    line.sendFrame(FRAME.data, FLAG.endStream, 1, Buffer.from('C'));
    await settled();
    expect(results).toMatchObject([{ status: 200, fields: [':status', '200', 'a', 'b'] }]);
    const [result] = results;
    expect(result?.result === 'answered' && result.body.toString()).toBe('ABC');
  });

  it('gets its pings and settings acknowledged', async () => {
    const { line, settled } = await asked();
    line.ping();
    await settled();
    expect(line.controlFrames).toEqual(['settings ack', 'ping ack 12345678']);
  });

  it('may ping us again and again while it answers', async () => {
    const { line, posted, settled } = await asked();
    line.answer(1);
    for (let round = 1; round <= 10; round++) {
      const results = await posted('/b');
      many(1_000, (peer) => peer.ping())(line);
      line.answer(round * 2 + 1);
      await settled();
      expect(inShort(results)).toEqual(['200']);
    }
  });

  it('may send more than a megabyte in many small answers', async () => {
    const { line, network, posted, settled } = await asked();
    const before = line.windowBytes;
    network.last.answer(1);
    for (let round = 0; round < 200; round++) {
      const results = await posted('/b');
      line.answer(round * 2 + 3, 200, {}, 'x'.repeat(4000));
      await settled();
      expect(inShort(results)).toEqual(['200']);
    }
    expect(line.windowBytes - before).toBeGreaterThan(500_000);
  });

  it('may read chunks of any size', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 12 })), async (sizes) => {
        const { posted, network, settled } = clientOnFakes({ connectionsMax: 1 });
        let sent: Buffer = Buffer.alloc(0);
        network.onOpen = (line) => {
          line.sendSettings();
        };
        const results = await posted(...paths(3));
        const { last } = network;
        const collect = last.collecting((bytes) => {
          sent = Buffer.concat([sent, bytes]);
        });
        for (const id of [5, 1, 3]) last.answer(id, 400, { a: 'b' }, `body ${id}`);
        collect();
        let at = 0;
        for (const size of [...sizes, sent.length]) {
          last.sendRaw(sent.subarray(at, at + size));
          at += size;
        }
        await settled();
        expect(inShort(results)).toEqual(['400', '400', '400']);
      }),
      { numRuns: 30 },
    );
  });
});

it('settles every request once, whatever a peer sends', async () => {
  const anyFrame = fc.oneof(
    fc.record({
      type: fc.integer({ min: 0, max: 10 }),
      flags: fc.constantFrom(0, 1, 4, 5, 8, 0x20, 0x2d),
      id: fc.integer({ min: 0, max: 8 }),
      payload: fc.uint8Array({ maxLength: 12 }),
    }),
    fc.record({
      type: fc.constantFrom(FRAME.headers),
      flags: fc.constantFrom(4, 5),
      id: fc.constantFrom(1, 3, 5, 7),
      payload: fc.constant(new Uint8Array(ok)),
    }),
    fc.record({
      type: fc.constantFrom(FRAME.reset, FRAME.goAway, FRAME.windowUpdate),
      flags: fc.constant(0),
      id: fc.constantFrom(0, 1, 3, 5),
      payload: fc.constantFrom(uint32(7), Buffer.concat([uint32(3), uint32(0)])),
    }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(anyFrame, { maxLength: 25 }), async (send) => {
      const { client, network, settled } = clientOnFakes({ connectionsMax: 1 });
      let settlements = 0;
      const sent = paths(4).map((path) =>
        client.send({ path, fields: [], body: Buffer.from(path) }).finally(() => settlements++),
      );
      await settled();
      for (const { type, flags, id, payload } of send) {
        network.last.sendFrame(type, flags, id, Buffer.from(payload));
      }
      await settled();
      await client[Symbol.asyncDispose]();
      await Promise.all(sent);
      expect(settlements).toBe(4);
    }),
    { numRuns: 200 },
  );
});

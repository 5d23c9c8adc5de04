import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { FrameScanner } from './frames.ts';

/** Builds a server frame, which has no mask. */
function serverFrame(opcode: number, payload: Buffer): Buffer {
  const length = payload.length;
  const header = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  header[0] = 0x80 | opcode;
  header[1] = length < 126 ? length : length < 65_536 ? 126 : 127;
  if (header.length === 4) header.writeUInt16BE(length, 2);
  if (header.length === 10) header.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([header, payload]);
}

describe('the frame scanner', () => {
  it('finds every frame once and in order, wherever reads cut them', () => {
    const payloads = fc.array(fc.constantFrom(0, 1, 125, 126, 280, 65_535, 65_536), {
      minLength: 1,
      maxLength: 5,
    });
    fc.assert(
      fc.property(payloads, fc.array(fc.integer({ min: 1, max: 400 })), (lengths, reads) => {
        const sent = lengths.map((length, index) => Buffer.alloc(length, index + 1));
        const bytes = Buffer.concat(sent.map((payload) => serverFrame(1, payload)));
        const found: Buffer[] = [];
        const sink = {
          frame: (_opcode: number, from: Buffer, start: number, end: number) =>
            found.push(Buffer.from(from.subarray(start, end))),
        };

        // One buffer for all reads and longer than each, as the kernel's are.
        const buffer = Buffer.alloc(bytes.length + 10, 0xff);
        const scanner = new FrameScanner();
        let at = 0;
        for (const read of [...reads, bytes.length]) {
          const length = Math.min(read, bytes.length - at);
          bytes.copy(buffer, 0, at, at + length);
          scanner.scan(buffer, length, sink);
          at += length;
        }

        expect(found).toEqual(sent);
      }),
      { numRuns: 50 },
    );
  });
});

/** Frame types of RFC 6455, section 11.8. */
export const opcodes = { text: 1, close: 8, ping: 9, pong: 10 } as const;

// Masks protect against proxies, which are not involved here. This mask changes nothing and costs nothing.
const NO_MASK = [0, 0, 0, 0];

/** Builds one whole client frame. RFC 6455, section 5.2. */
export function clientFrame(opcode: number, payload: Uint8Array): Uint8Array {
  if (payload.length > 65_535) throw new RangeError('a client frame of the benchmark is small');
  const length =
    payload.length < 126
      ? [0x80 | payload.length]
      : [0x80 | 126, payload.length >>> 8, payload.length & 255];
  return Buffer.concat([Uint8Array.of(0x80 | opcode, ...length, ...NO_MASK), payload]);
}

/** Builds the client frame of one protocol message. */
export function clientMessage(message: object): Uint8Array {
  return clientFrame(opcodes.text, Buffer.from(JSON.stringify(message)));
}

/** Where frames go that a scanner has found. The payload is `bytes[start..end)`, valid during the call. */
export interface FrameSink {
  frame(opcode: number, bytes: Buffer, start: number, end: number): void;
}

/**
 * Finds the frames in the bytes of one connection, in chunks of any size. Allocates only if a chunk ends within a
 * frame, never per frame.
 */
export class FrameScanner {
  #cut: Buffer | undefined;

  /** Whether the last chunk ended at the end of a frame. */
  get isBetweenFrames(): boolean {
    return this.#cut === undefined;
  }

  /** Takes one read, `chunk[0..length)`. */
  scan(chunk: Buffer, length: number, sink: FrameSink): void {
    if (this.#cut === undefined) this.#scanWhole(chunk, length, sink);
    else {
      const bytes = Buffer.concat([this.#cut, chunk.subarray(0, length)]);
      this.#scanWhole(bytes, bytes.length, sink);
    }
  }

  #scanWhole(bytes: Buffer, length: number, sink: FrameSink): void {
    let at = 0;
    for (;;) {
      const left = length - at;
      if (left < 2) break;
      let header = 2;
      let payload = (bytes[at + 1] ?? 0) & 127;
      if (payload === 126) {
        header = 4;
        if (left < header) break;
        payload = ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0);
      } else if (payload === 127) {
        header = 10;
        if (left < header) break;
        payload = Number(bytes.readBigUInt64BE(at + 2));
      }
      if (left < header + payload) break;
      sink.frame((bytes[at] ?? 0) & 15, bytes, at + header, at + header + payload);
      at += header + payload;
    }
    // Copied, since the bytes are only ours during the call.
    this.#cut = at === length ? undefined : Buffer.from(bytes.subarray(at, length));
  }
}

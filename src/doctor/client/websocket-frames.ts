import { randomBytes } from 'node:crypto';

/** The frames that both sides of a WebSocket speak. Source: RFC 6455, §5. */
export const opcodes = { text: 1, close: 8, ping: 9, pong: 10 } as const;

export interface WebSocketFrame {
  readonly final: boolean;
  readonly opcode: number;
  readonly payload: Buffer;
}

/** Writes one whole frame of a client, masked as it must be. */
export function clientFrame(opcode: number, payload: Uint8Array): Buffer {
  const { length } = payload;
  if (length > 65_535) throw new RangeError('The doctor sends only short frames');
  const size = length < 126 ? [0x80 | length] : [0x80 | 126, length >> 8, length & 255];
  const head = Buffer.from([0x80 | opcode, ...size]);
  const mask = randomBytes(4);
  const masked = payload.map((byte, index) => byte ^ (mask[index % 4] ?? 0));
  return Buffer.concat([head, mask, masked]);
}

/** Reads the first frame of the received bytes, with its length in bytes; `undefined` while it is not complete. */
export function readFrame(
  unread: Buffer,
): { readonly frame: WebSocketFrame; readonly bytes: number } | undefined {
  if (unread.length < 2) return undefined;
  const short = unread.readUInt8(1) & 127;
  const masked = (unread.readUInt8(1) & 128) !== 0;
  const start = 2 + lengthBytesOf(short) + (masked ? 4 : 0);
  if (unread.length < start) return undefined;
  const length = lengthOf(unread, short);
  if (unread.length < start + length) return undefined;
  // Servers do not mask; one that does is read all the same.
  const mask = masked ? unread.subarray(start - 4, start) : undefined;
  const payload = Buffer.from(unread.subarray(start, start + length)).map(
    (byte, index) => byte ^ (mask?.[index % 4] ?? 0),
  );
  const first = unread.readUInt8(0);
  return {
    frame: { final: (first & 128) !== 0, opcode: first & 15, payload: Buffer.from(payload) },
    bytes: start + length,
  };
}

/** The size of the field that `short` announces. Source: RFC 6455, 5.2. */
function lengthBytesOf(short: number): number {
  if (short === 126) return 2;
  return short === 127 ? 8 : 0;
}

/** The length of a payload: `short` itself, or the field that it announces. Source: RFC 6455, 5.2. */
function lengthOf(head: Buffer, short: number): number {
  if (short === 126) return head.readUInt16BE(2);
  return short === 127 ? Number(head.readBigUInt64BE(2)) : short;
}

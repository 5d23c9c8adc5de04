import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { RedisError, type Reply } from './reply.ts';
import { NotRedis, ReplyReader } from './reply-reader.ts';

/** What a reader makes of chunks. Each chunk is overwritten after it was read, as a socket may do. */
function readAll(chunks: readonly Buffer[]): readonly Reply[] {
  const replies: Reply[] = [];
  const reader = new ReplyReader((reply) => replies.push(reply));
  for (const chunk of chunks) {
    const copy = Buffer.from(chunk);
    reader.read(copy);
    copy.fill('#');
  }
  return replies;
}

function encode(reply: Reply): string {
  if (reply === null) return '$-1\r\n';
  if (typeof reply === 'number') return `:${reply}\r\n`;
  if (typeof reply === 'string') return `$${Buffer.byteLength(reply)}\r\n${reply}\r\n`;
  if (reply instanceof RedisError) return `-${reply.message}\r\n`;
  return `*${reply.length}\r\n${reply.map(encode).join('')}`;
}

/** Cuts bytes at the given places. */
function cut(bytes: Buffer, places: readonly number[]): readonly Buffer[] {
  const sorted = places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b);
  return [0, ...sorted].map((start, index) => bytes.subarray(start, sorted[index] ?? bytes.length));
}

const { reply } = fc.letrec<{ reply: Reply }>((tie) => ({
  reply: fc.oneof(
    { maxDepth: 4 },
    fc.string({ unit: 'grapheme', maxLength: 40 }),
    fc.maxSafeInteger(),
    fc.constant(null),
    fc.constant(new RedisError('ERR not so')),
    fc.array(tie('reply'), { maxLength: 5 }),
  ),
}));

describe('a reader of replies', () => {
  it('reads the same however the bytes are cut', () => {
    fc.assert(
      fc.property(
        fc.array(reply, { maxLength: 6 }),
        fc.array(fc.nat(2_000), { maxLength: 30 }),
        (replies, places) => {
          const bytes = Buffer.from(replies.map(encode).join(''));
          expect(readAll(cut(bytes, places))).toEqual(replies);
        },
      ),
    );
  });

  it('reads short answers and null arrays', () => {
    expect(readAll([Buffer.from('+OK\r\n*-1\r\n*0\r\n')])).toEqual(['OK', null, []]);
  });

  it('throws NotRedis or reads, whatever it is given', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 50 })), (chunks) => {
        try {
          readAll(chunks.map((chunk) => Buffer.from(chunk)));
        } catch (error) {
          expect(error).toBeInstanceOf(NotRedis);
        }
      }),
    );
  });

  it.each(['HTTP/1.1 400 Bad Request\r\n', '$99999999999\r\n', '$1x\r\n', '*1\r\n'.repeat(20)])(
    'refuses what is no reply: %p',
    (text) => {
      expect(() => readAll([Buffer.from(text)])).toThrow(NotRedis);
    },
  );
});

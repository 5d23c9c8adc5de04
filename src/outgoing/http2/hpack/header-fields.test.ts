import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { OutBuffer } from '../frames/out-buffer.ts';
import { ProtocolFault } from '../frames/protocol.ts';
import { HEADER_LIST_BYTES_MAX, HeaderDecoder } from './header-decoder.ts';
import { HeaderEncoder, headerBytesMax, plainBlock } from './header-encoder.ts';
import { type HeaderField, keptField, plainField } from './header-field.ts';

const bytes = (hex: string) => Buffer.from(hex.replace(/\s/g, ''), 'hex');

function pairs(list: readonly string[]): readonly string[] {
  return list.flatMap((name, index) => (index % 2 === 0 ? [`${name}: ${list[index + 1]}`] : []));
}

/** Encodes requests of one connection, each as a block. */
function encoding() {
  const out = new OutBuffer();
  const encoder = new HeaderEncoder(out);
  return {
    encoder,
    block(fields: readonly HeaderField[], path = '/', bodyBytes = 0) {
      out.reserve(headerBytesMax(fields, path) + headerBytesMax([], ''));
      encoder.write([], fields, path, bodyBytes);
      return Buffer.concat(out.take());
    },
  };
}

describe('the header decoder', () => {
  it('decodes the examples of the specification, with and without Huffman codes', () => {
    // RFC 7541, C.5 and C.6, but with another table size.
    for (const [first, second] of [
      [
        `4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133
         3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d`,
        '4803 3330 37c1 c0bf',
      ],
      [
        `4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d
         29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3`,
        '4883 640e ffc1 c0bf',
      ],
    ] as const) {
      const decoder = new HeaderDecoder();
      const rest = [
        'cache-control: private',
        'date: Mon, 21 Oct 2013 20:13:21 GMT',
        'location: https://www.example.com',
      ];
      expect(pairs(decoder.read(bytes(first)))).toEqual([':status: 302', ...rest]);
      expect(pairs(decoder.read(bytes(second)))).toEqual([':status: 307', ...rest]);
    }
  });

  it('evicts the oldest fields when the table shrinks', () => {
    const decoder = new HeaderDecoder();
    decoder.read(bytes('40 01 61 01 31'));
    decoder.read(bytes('40 01 62 01 32'));
    expect(pairs(decoder.read(bytes('be bf')))).toEqual(['b: 2', 'a: 1']);
    expect(pairs(decoder.read(bytes('3f 05 be')))).toEqual(['b: 2']);
    expect(() => decoder.read(bytes('bf'))).toThrow(ProtocolFault);
  });

  it.each([
    ['an index of 0', '80'],
    ['an index of no field', 'be'],
    ['a field that ends in its name', '40 05 61'],
    ['a field without a value', '40 01 61'],
    ['a number that never ends', `ff ${'ff '.repeat(20)}`],
    ['a number that is too large', 'ff ff ff ff 7f'],
    ['a table that is larger than allowed', '3f e2 1f'],
    ['a table size after a field', '88 20'],
    ['the end of a text in the middle of one', '40 01 61 84 ff ff ff ff'],
    ['padding that is not all ones', '40 01 61 81 00'],
    ['more than seven bits of padding', '40 01 61 82 1f ff'],
  ])('refuses %s', (_, hex) => {
    expect(() => new HeaderDecoder().read(bytes(hex))).toThrow(ProtocolFault);
  });

  it('refuses a block that expands to too many fields', () => {
    const decoder = new HeaderDecoder();
    decoder.read(plainBlock({ a: '' }));
    const kept = Buffer.concat([bytes('40 01 61 7f 81 0f'), Buffer.alloc(2048, 'x')]);
    decoder.read(kept);
    const often = Buffer.alloc(HEADER_LIST_BYTES_MAX / 2048 + 1, 0xbe);
    expect(() => decoder.read(often)).toThrow('too many header fields');
  });

  it('throws nothing else for any bytes', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 60 })), (blocks) => {
        const decoder = new HeaderDecoder();
        try {
          for (const block of blocks) decoder.read(Buffer.from(block));
        } catch (error) {
          expect(error).toBeInstanceOf(ProtocolFault);
        }
      }),
    );
  });
});

describe('the header encoder', () => {
  it('sends a kept field in full once, and then as one byte', () => {
    const { block } = encoding();
    const token = keptField('authorization', `bearer ${'x'.repeat(200)}`);
    expect(block([token], '/a').length).toBeGreaterThan(200);
    expect(block([token], '/a')).toEqual(bytes('04 02 2f61 be 0f0d 01 30'));
  });

  it('keeps no more in the table than the peer does', () => {
    const { encoder, block } = encoding();
    const decoder = new HeaderDecoder();
    const token = keptField('authorization', 'x'.repeat(200));
    decoder.read(block([token]));
    encoder.limitTable(100);
    const limited = block([token]);
    // The new size, then the field in full.
    expect(limited.subarray(0, 2)).toEqual(bytes('3f 45'));
    expect(pairs(decoder.read(limited))).toContain(`authorization: ${token.value}`);
    expect(block([token]).length).toBe(limited.length - 2);
  });

  it('encodes what the decoder reads, with any sequence of fields', () => {
    const field = fc
      .tuple(
        fc.constantFrom('authorization', 'apns-topic', ':status', 'x'),
        fc.stringMatching(/^[\x20-\x7e]{0,300}$/),
        fc.boolean(),
      )
      .map(([name, value, kept]) => (kept ? keptField(name, value) : plainField(name, value)));
    const request = fc.record({
      fields: fc.array(field, { maxLength: 8 }),
      path: fc.stringMatching(/^\/[!-~]{0,200}$/),
      bodyBytes: fc.nat(100_000),
      limit: fc.option(fc.nat(5000), { nil: undefined, freq: 4 }),
    });
    fc.assert(
      fc.property(fc.array(request, { minLength: 1, maxLength: 30 }), (requests) => {
        const { encoder, block } = encoding();
        const decoder = new HeaderDecoder();
        for (const { fields, path, bodyBytes, limit } of requests) {
          if (limit !== undefined) encoder.limitTable(limit);
          const written = block(fields, path, bodyBytes);
          expect(written.length).toBeLessThanOrEqual(
            headerBytesMax(fields, path) + headerBytesMax([], ''),
          );
          expect(pairs(decoder.read(written))).toEqual([
            `:path: ${path}`,
            ...fields.map(({ name, value }) => `${name}: ${value}`),
            `content-length: ${bodyBytes}`,
          ]);
        }
      }),
    );
  });

  it.each(['a\r\nb', 'a\nb', 'a\0b', 'ä', '\x7f'])('refuses %j as a value', (value) => {
    expect(() => plainField('x', value)).toThrow('not a header field: x');
  });

  it.each(['', 'X', 'a b', 'a:b', 'a\n'])('refuses %j as a name', (name) => {
    expect(() => plainField(name, '')).toThrow('not a header field');
  });
});

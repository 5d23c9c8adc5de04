import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { testSeed } from '../../../../../testing/long-run.ts';
import { BodyReader } from './body-reader.ts';
import type { BodyFraming } from './request-head.ts';

fc.configureGlobal({ seed: testSeed() });

/** Reads a body that arrives in pieces. Returns it, and what follows it; `undefined`: it is none; `null`: it has no end. */
function read(framing: BodyFraming, pieces: readonly string[]) {
  const reader = new BodyReader(framing);
  const body: Buffer[] = [];
  let input = Buffer.alloc(0);
  for (const [at, piece] of pieces.entries()) {
    input = Buffer.concat([input, Buffer.from(piece, 'latin1')]);
    const part = reader.read(input);
    if (part === undefined) return undefined;
    body.push(...part.data);
    input = input.subarray(part.used);
    if (!part.isComplete) continue;
    const rest = input.toString('latin1') + pieces.slice(at + 1).join('');
    return { body: Buffer.concat(body).toString('latin1'), rest };
  }
  return null;
}

const CHUNKS = '3\r\nabc\r\nA;x="y"\r\n0123456789\r\n0\r\nX: y\r\n\r\n';

describe('a body', () => {
  it.each<[framing: BodyFraming, text: string]>([
    [{ bytes: 13 }, 'abc0123456789'],
    ['chunks', CHUNKS],
    ['chunks', CHUNKS.replace('A;', '0000000a \t;')],
  ])('ends where its head or its chunks say, wherever it is cut: %j %j', (framing, text) => {
    const expected = { body: 'abc0123456789', rest: 'GET / HTTP' };
    const all = `${text}GET / HTTP`;
    expect(read(framing, [all])).toEqual(expected);
    expect(read(framing, all.split(''))).toEqual(expected);
    for (let at = 0; at < text.length; at++) {
      expect(read(framing, [all.slice(0, at), all.slice(at)])).toEqual(expected);
      expect(read(framing, [text.slice(0, at)])).toBeNull();
    }
  });

  it.each([
    ['a size that is none', 'g\r\n'],
    ['a sign', '+3\r\nabc\r\n'],
    ['a prefix', '0x3\r\nabc\r\n'],
    ['a space before the size', ' 3\r\nabc\r\n'],
    ['a space behind the size', '3 \r\nabc\r\n'],
    ['no size', '\r\n'],
    ['a size of nine digits', '000000003\r\nabc\r\n'],
    ['a lone line feed behind the size', '3\nabc\r\n'],
    ['a lone line feed in an extension', '3;a\nb\r\nabc\r\n'],
    ['a lone carriage return in an extension', '3;a\rb\r\nabc\r\n'],
    ['NUL in an extension', '3;a\0b\r\nabc\r\n'],
    ['a lone line feed behind the data', '3\r\nabc\n0\r\n\r\n'],
    ['more data than it says', '3\r\nabcd\r\n'],
    ['an extension of 1 KiB', `3;${'x'.repeat(1_100)}\r\n`],
    ['an extension of 1 KiB without an end', `3;${'x'.repeat(1_100)}`],
    ['a trailer with a lone line feed', '0\r\nX: y\n\r\n'],
    ['65 trailers', `0\r\n${'X: y\r\n'.repeat(65)}\r\n`],
    ['more than 8,192 chunks', `${'1\r\nx\r\n'.repeat(8_192)}0\r\n\r\n`],
  ])('in chunks with %s is refused', (_, text) => {
    expect(read('chunks', [text])).toBeUndefined();
  });

  it('is read in the same way however it arrives', () => {
    const parts = fc.constantFrom(
      ...[
        '0\r\n',
        '\r\n',
        '3\r\n',
        '3;a=b\r\n',
        'abc',
        'abc\r\n',
        '\n',
        '\r',
        'X: y\r\n',
        '1\r\nx\r\n',
        '\0',
      ],
    );
    fc.assert(
      fc.property(fc.array(parts, { maxLength: 12 }), fc.nat(40), (some, at) => {
        const text = some.join('');
        const whole = read('chunks', [text]);
        expect(read('chunks', [text.slice(0, at), text.slice(at)])).toEqual(whole);
        expect(read('chunks', text.split(''))).toEqual(whole);
      }),
      { numRuns: 1_000 },
    );
  });

  it('does not keep what came with a small chunk', () => {
    const part = new BodyReader('chunks').read(Buffer.from(`1;${'x'.repeat(1_000)}\r\na\r\n`));
    expect(part?.data[0]?.buffer.byteLength).toBeLessThan(100_000);
    expect(part?.data.map(String)).toEqual(['a']);
  });
});

import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { channelName } from '../hub.fixture.ts';
import { eventMessage } from '../wire.ts';
import { placePiece, type ValueHead } from './place-piece.ts';
import {
  bytesInFrame,
  endedValueFrame,
  pieceData,
  readTextInFrame,
  textInFrame,
} from './value-frames.ts';

const texts = fc.string({ unit: 'grapheme' }).filter((text) => text.isWellFormed());
const anyText = fc.oneof(
  texts,
  fc.string({ unit: fc.constantFrom('"', '\\', '\n', '\u0000', '\u2028', 'é', '👍', '/', "'") }),
);
const piece = (id: string, at: number, text: string, isLast = false) => ({ id, at, text, isLast });

describe('pieces in frames', () => {
  it('are joined by joining their texts as they stand there', () => {
    const { text: channel } = channelName('cache-a');
    fc.assert(
      fc.property(fc.array(anyText), (pieces) => {
        const inFrame = pieces.map(textInFrame).join('');
        const text = pieces.join('');
        expect(inFrame).toBe(textInFrame(text));
        expect(readTextInFrame(inFrame)).toBe(text);
        expect(bytesInFrame(text)).toBe(Buffer.byteLength(inFrame));
        const [before, after] = endedValueFrame('answer "1"', channel, 'm1');
        const whole = eventMessage('answer "1"', channel, pieceData(piece('m1', 0, text, true)));
        expect(`${before}${inFrame}${after}`).toBe(whole);
      }),
    );
  });

  it('take bytes in proportion to the value', () => {
    const { text: channel } = channelName('cache-a');
    const bytes = (pieces: number) => {
      let sum = 0;
      for (let n = 0; n < pieces; n++) {
        sum += eventMessage('answer', channel, pieceData(piece('msg_1', 5 * n, 'token'))).length;
      }
      return sum;
    };
    expect(bytes(10_000)).toBeLessThan(4.6 * bytes(2500));
    expect(bytes(10_000)).toBeLessThan(1.2 * 1024 * 1024);
  });
});

describe('a producer that repeats pieces', () => {
  /** What is sent of a piece, as the server and the rule of clients do it. */
  it('makes the same value for whoever joins pieces by position', () => {
    const steps = fc.array(fc.tuple(anyText, fc.nat({ max: 40 }), fc.boolean()));
    fc.assert(
      fc.property(steps, (plan) => {
        let head: ValueHead | undefined;
        let [value, seen] = ['', ''];
        for (const [text, back, isLast] of plan) {
          // What it says again is what it has said, cut where a character ends.
          let at = Math.max(0, value.length - back);
          while (!value.slice(at).isWellFormed()) at--;
          if (at === 0) at = value.length;
          const said = value.slice(at) + text;
          const placed = placePiece(head, piece('m1', at, said, isLast), 1e6);
          if (placed.does === 'refuse') {
            expect(head?.hasEnded).toBe(true);
            break;
          }
          if (placed.does === 'repeat') continue;
          const before = placed.head.length - placed.text.length;
          seen = seen.slice(0, before) + placed.text;
          value = value.slice(0, at) + said;
          ({ head } = placed);
          expect(seen).toBe(value);
          expect(head).toEqual({
            id: 'm1',
            length: value.length,
            bytes: Buffer.byteLength(value),
            frameBytes: bytesInFrame(value),
            hasEnded: isLast,
          });
        }
      }),
    );
  });
});

describe('the limit of a value', () => {
  it('holds for its bytes, and four times for those in a frame', () => {
    const begins = (text: string) => placePiece(undefined, piece('m1', 0, text), 16).does;
    expect(begins('é'.repeat(8))).toBe('begin');
    expect(begins('é'.repeat(9))).toBe('refuse');
    expect(begins('\u0001'.repeat(9))).toBe('begin');
    expect(begins('\u0001'.repeat(10))).toBe('refuse');
  });
});

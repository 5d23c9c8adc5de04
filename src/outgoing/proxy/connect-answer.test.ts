import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { type ConnectAnswer, ConnectAnswerReader, HEAD_BYTES_MAX } from './connect-answer.ts';

function read(...chunks: readonly (string | Uint8Array)[]): ConnectAnswer {
  const reader = new ConnectAnswerReader();
  let answer: ConnectAnswer = 'incomplete';
  for (const chunk of chunks) {
    answer = reader.push(Buffer.from(chunk));
    if (answer !== 'incomplete') return answer;
  }
  return answer;
}

const shown = (answer: ConnectAnswer) =>
  typeof answer === 'string' ? answer : `${answer.status} ${answer.rest}`;

describe("a proxy's answer to CONNECT", () => {
  it.each([
    ['HTTP/1.1 200 OK\r\n\r\n', '200 '],
    ['HTTP/1.0 200 Connection established\r\nVia: x\r\n\r\nearly', '200 early'],
    ['HTTP/1.1 200\r\n\r\n', '200 '],
    // A tunnel has no body.
    ['HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n', '200 '],
    ['HTTP/1.1 407 Proxy Authentication Required\r\n\r\nbody', '407 body'],
    [
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\n\r\n',
      '200 ',
    ],
    ['HTTP/1.1 101 Switching\r\n\r\n', '101 '],
    ['HTTP/1.1 200 OK\r\n', 'incomplete'],
    ['', 'incomplete'],
    ['HTTP/1.1 2000 OK\r\n\r\n', 'not-http'],
    ['HTTP/1.1 OK\r\n\r\n', 'not-http'],
    ['HTTP/2 200\r\n\r\n', 'not-http'],
    ['SSH-2.0-x', 'not-http'],
    ['\x15\x03\x01', 'not-http'],
  ])('is read: %j', (text, answer) => {
    expect(shown(read(text))).toBe(answer);
  });

  it('may come in chunks of any size', () => {
    const text = 'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\n\r\n';
    fc.assert(
      fc.property(fc.array(fc.nat(text.length)), (cuts) => {
        const places = [0, ...cuts.toSorted((a, b) => a - b), text.length];
        const chunks = places.slice(1).map((end, index) => text.slice(places[index], end));
        expect(shown(read(...chunks))).toBe('200 ');
      }),
    );
  });

  it('has a head of a bounded size, interim answers included', () => {
    const line = `A: ${'x'.repeat(997)}\r\n`;
    expect(read('HTTP/1.1 200 OK\r\n', ...Array<string>(17).fill(line))).toBe('too-large');
    const interim = `HTTP/1.1 102 Processing\r\n${line}\r\n`;
    expect(read(...Array<string>(17).fill(interim))).toBe('too-large');
    expect(read('HTTP/1.1 200 '.padEnd(HEAD_BYTES_MAX + 1, 'x'))).toBe('too-large');
  });

  it('may be anything', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array()), (chunks) => {
        read('HTTP/1.1 ', ...chunks);
      }),
    );
  });
});

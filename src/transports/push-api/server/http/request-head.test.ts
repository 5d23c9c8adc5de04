import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { testSeed } from '../../../../../testing/long-run.ts';
import { emptyLinesOf, readHead } from './request-head.ts';

fc.configureGlobal({ seed: testSeed() });

const read = (text: string) => readHead(Buffer.from(text, 'latin1'), 0);
const START = 'POST /a HTTP/1.1\r\nHost: x\r\n';

describe('the head of a request', () => {
  it('is what comes before an empty line', () => {
    const text =
      'POST /a?b=c HTTP/1.1\r\nHost: x\r\nX-Y:\t a b \r\nx-y: c\r\nContent-Length: 3\r\n\r\n';
    expect(read(`${text}abc`)).toEqual({
      head: {
        method: 'POST',
        target: '/a?b=c',
        isCurrent: true,
        headers: new Map([
          ['host', 'x'],
          ['x-y', 'a b, c'],
          ['content-length', '3'],
        ]),
        framing: { bytes: 3 },
        expectsContinue: false,
        isLast: false,
      },
      end: text.length,
    });
  });

  it.each([
    ['GET / HTTP/1.1\r\n\r\n', { framing: { bytes: 0 }, isLast: false }],
    ['GET http://a/b HTTP/1.1\r\n\r\n', { target: 'http://a/b' }],
    ['GET / HTTP/1.1\r\nConnection: Keep-Alive, Close\r\n\r\n', { isLast: true }],
    ['GET / HTTP/1.0\r\n\r\n', { isCurrent: false, isLast: true }],
    [`${START}Transfer-Encoding: Chunked\r\n\r\n`, { framing: 'chunks' }],
    [`${START}Expect: 100-Continue\r\n\r\n`, { expectsContinue: true }],
    ['POST / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n', { expectsContinue: false }],
    [`${START}Expect: puzzle\r\n\r\n`, { expectsContinue: false }],
    [
      `${START}Content-Type: a\r\nContent-Type: b\r\n\r\n`,
      { headers: new Map(Object.entries({ host: 'x', 'content-type': 'a' })) },
    ],
    [`${START}X:\r\n\r\n`, {}],
    [`${START}X: \xff\t!\r\n\r\n`, {}],
  ])('says how the request is to be read: %j', (text, expected) => {
    expect(read(text)).toMatchObject({ head: expected });
  });

  it.each([
    ['a line that continues another one', `${START}X: a\r\n b: c\r\n\r\n`, 'header'],
    ['a space before the colon', `${START}Content-Length : 3\r\n\r\n`, 'header'],
    ['a name of nothing', `${START}: 3\r\n\r\n`, 'header'],
    ['no colon', `${START}X\r\n\r\n`, 'header'],
    ['a lone line feed', `${START}X: a\nContent-Length: 3\r\n\r\n`, 'header'],
    ['a lone carriage return', `${START}X: a\rContent-Length: 3\r\n\r\n`, 'header'],
    ['NUL in a value', `${START}X: a\0b\r\n\r\n`, 'header'],
    ['NUL in a name', `${START}X\0: ab\r\n\r\n`, 'header'],
    ['two hosts', `${START}Host: y\r\n\r\n`, 'header'],
    ['two lengths', `${START}Content-Length: 3\r\nContent-Length: 4\r\n\r\n`, 'length'],
    ['the same length twice', `${START}Content-Length: 3\r\nContent-Length: 3\r\n\r\n`, 'length'],
    ['a list of lengths', `${START}Content-Length: 3, 3\r\n\r\n`, 'length'],
    ['a length with a sign', `${START}Content-Length: +3\r\n\r\n`, 'length'],
    ['a hexadecimal length', `${START}Content-Length: 0x3\r\n\r\n`, 'length'],
    ['an empty length', `${START}Content-Length:\r\n\r\n`, 'length'],
    [
      'a length and chunks',
      `${START}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n`,
      'encoding',
    ],
    [
      'chunks and a length',
      `${START}Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n`,
      'encoding',
    ],
    [
      'chunks twice',
      `${START}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n`,
      'encoding',
    ],
    ['chunks that are compressed', `${START}Transfer-Encoding: gzip, chunked\r\n\r\n`, 'encoding'],
    ['chunks with something behind', `${START}Transfer-Encoding: chunked;q=1\r\n\r\n`, 'encoding'],
    ['a vertical tab before chunks', `${START}Transfer-Encoding: \x0bchunked\r\n\r\n`, 'header'],
    ['chunks of HTTP/1.0', 'POST /a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n', 'encoding'],
    ['a line feed before the request', '\nGET / HTTP/1.1\r\n\r\n', 'method'],
    ['a space before the method', ' GET / HTTP/1.1\r\n\r\n', 'method'],
    ['a method in small letters', 'get / HTTP/1.1\r\n\r\n', 'method'],
    ['a line that ends with a line feed', 'GET / HTTP/1.1\nHost: x\r\n\r\n', 'version'],
    ['no version', 'GET /\r\n\r\n', 'version'],
    ['a version with a space', 'GET / HTTP/1.1 \r\n\r\n', 'version'],
    ['two paths', 'GET /a /b HTTP/1.1\r\n\r\n', 'request'],
    ['two spaces', 'GET  /a HTTP/1.1\r\n\r\n', 'request'],
    ['a tab in the path', 'GET /a\tb HTTP/1.1\r\n\r\n', 'target'],
    ['NUL in the path', 'GET /a\0b HTTP/1.1\r\n\r\n', 'target'],
    ['no path', 'OPTIONS * HTTP/1.1\r\n\r\n', 'request'],
    ['another scheme', 'GET file:///a HTTP/1.1\r\n\r\n', 'request'],
    ['a tunnel', 'CONNECT a:443 HTTP/1.1\r\n\r\n', 'tunnel'],
    ['16 KiB', `${START}X: ${'x'.repeat(16_384)}\r\n\r\n`, 'head-too-large'],
    ['16 KiB without an end', `${START}X: ${'x'.repeat(16_384)}`, 'head-too-large'],
    ['199 headers', `${START}${'a: b\r\n'.repeat(198)}\r\n`, 'head-too-large'],
  ])('with %s is refused', (_, text, fault) => {
    expect(read(text)).toBe(fault as never);
  });

  it.each(['\x16\x03\x01', 'A'.repeat(20), 'GeT', '\r\0', '\0'])(
    'that does not begin with a method is refused without waiting for its end: %j',
    (text) => {
      expect(read(text)).toBe('method');
    },
  );

  it('may come after empty lines', () => {
    expect(emptyLinesOf(Buffer.from('\r\n\r\nGET'))).toBe(4);
    for (const text of ['', '\r', '\n', 'G', '\n\r\n']) {
      expect(emptyLinesOf(Buffer.from(text))).toBe(0);
    }
    expect(read('\r')).toBeUndefined();
  });

  it('is the same wherever it is cut', () => {
    const parts = fc.array(
      fc.constantFrom(
        ...[
          'GET',
          'POST',
          ' ',
          ' ',
          '/a',
          '/b?c',
          'HTTP/1.1',
          'HTTP/1.0',
          '\r\n',
          '\r\n',
          '\r\n\r\n',
        ],
        ...[
          '\n',
          '\r',
          '\0',
          ':',
          'Host: x\r\n',
          'Content-Length: 3\r\n',
          'Transfer-Encoding: chunked\r\n',
        ],
        ...['X: y\r\n', ' folded\r\n', 'Connection: close\r\n', 'abc', '\xff'],
      ),
      { maxLength: 14 },
    );
    const begun = fc.tuple(fc.constantFrom('', 'GET / HTTP/1.1\r\n', START), parts);
    fc.assert(
      fc.property(begun, ([start, rest]) => {
        const bytes = Buffer.from(start + rest.join(''), 'latin1');
        const whole = readHead(bytes, 0);
        let searched = 0;
        for (let length = 1; length < bytes.length; length++) {
          const some = bytes.subarray(0, length);
          const found = readHead(some, searched);
          searched = Math.max(0, length - 3);
          // What is decided early stays so.
          if (found !== undefined) return expect(found).toEqual(whole as never);
        }
      }),
      { numRuns: 1_000 },
    );
  });
});

import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { readListenHost, urlHost } from './listen-host.ts';

describe('the host of a listener', () => {
  it.each([
    ['0.0.0.0', '0.0.0.0'],
    ['127.0.0.1', '127.0.0.1'],
    ['::', '::'],
    ['[::]', '::'],
    ['[::1]', '::1'],
    ['0:0:0:0:0:0:0:0', '::'],
    ['2001:DB8::0001', '2001:db8::1'],
    ['localhost', 'localhost'],
    ['my_host-1.example.org', 'my_host-1.example.org'],
  ])('has one spelling: %s', (text, host) => {
    expect(readListenHost(text)).toBe(host);
    expect(readListenHost(host)).toBe(host);
  });

  it.each([
    '',
    ' ',
    '*',
    '0',
    '127.1',
    '256.0.0.1',
    '[127.0.0.1]',
    '[localhost]',
    '[::1',
    '::1]',
    '[[::1]]',
    '::1%lo',
    'fe80::1%eth0',
    '[fe80::1%25eth0]',
    '127.0.0.1:6001',
    '[::1]:6001',
    'http://localhost',
    'local host',
    'localhost\n',
    '-x',
  ])('is refused: %j', (text) => {
    expect(readListenHost(text)).toBeUndefined();
  });

  it('makes a URL that can be read, whatever it is', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.ipV4(), fc.ipV6(), fc.domain()), (text) => {
        const host = readListenHost(text);
        if (host !== undefined) expect(URL.canParse(`http://${urlHost(host)}:1`)).toBe(true);
      }),
    );
  });
});

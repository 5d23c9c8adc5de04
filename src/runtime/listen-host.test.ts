import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { listenHostRule, peerAddress, readListenHost, socketPath, urlHost } from './listen-host.ts';

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

  it('may be the absolute path of a Unix socket, in one spelling', () => {
    const longest = `/${'x'.repeat(106)}`;
    for (const path of ['/s', '/run/fanfare/channels.sock', '/tmp/@a-b', longest]) {
      expect(readListenHost(`unix:${path}`)).toBe(`unix:${path}`);
      expect(socketPath(`unix:${path}`)).toBe(path);
    }
    for (const host of ['127.0.0.1', '::1', 'unix', 'unix.example.org']) {
      expect(readListenHost(host)).toBe(host);
      expect(socketPath(host)).toBeUndefined();
    }
    expect(peerAddress('unix:/s', undefined)).toBe('unix');
    // The runtime knows no address of a connection that is closed: that makes nobody a proxy.
    expect(peerAddress('127.0.0.1', undefined)).toBe('');
  });

  it.each([
    '',
    '/',
    'run/s',
    './s',
    '//run/s',
    '/run//s',
    '/run/',
    '/a b',
    '/a:b',
    '/a~b',
    '/a\0b',
    '/ä',
    `/${'x'.repeat(107)}`,
  ])('is not such a path: %j', (path) => {
    expect(readListenHost(`unix:${path}`)).toBeUndefined();
    expect(listenHostRule(`unix:${path}`)).toStartWith('must be unix: and an absolute path');
  });

  it('makes a URL that can be read, whatever it is', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.ipV4(), fc.ipV6(), fc.domain()), (text) => {
        const host = readListenHost(text);
        if (host === undefined || socketPath(host) !== undefined) return;
        expect(URL.canParse(`http://${urlHost(host)}:1`)).toBe(true);
      }),
    );
  });
});

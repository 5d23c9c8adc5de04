import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { hostAndPort, parseProxy } from './proxy-address.ts';

const basic = (pair: string) => `Basic ${Buffer.from(pair).toString('base64')}`;

describe('the address of a proxy', () => {
  it.each([
    ['http://proxy.example.test:3128', 'proxy.example.test', 3128, undefined],
    ['http://proxy.example.test', 'proxy.example.test', 80, undefined],
    ['http://[::1]:8080/', '::1', 8080, undefined],
    ['http://u:p@10.0.0.1:3128', '10.0.0.1', 3128, basic('u:p')],
    ['http://us%40er:p%3A%2Fw%C3%B6rd@p:1', 'p', 1, basic('us@er:p:/wörd')],
    ['http://token@p:1', 'p', 1, basic('token:')],
  ])('is read: %s', (text, host, port, authorization) => {
    expect(parseProxy(text)).toEqual({ host, port, authorization });
  });

  it.each([
    '',
    'none',
    'proxy.example.test:3128',
    'https://proxy.example.test:3128',
    'socks5://proxy.example.test:1080',
    'http://user:pass/word@proxy.example.test:3128',
    'http://user:12/word@proxy.example.test:3128',
    'http://user:pass#word@proxy.example.test:3128',
    'http://user:pass?word@proxy.example.test:3128',
    'http://user:50%@proxy.example.test:3128',
    'http://proxy.example.test:3128/path',
    'http://proxy.example.test:99999',
  ])('is refused: %s', (text) => {
    expect(parseProxy(text)).toBeUndefined();
  });

  it('keeps any user and password that are percent-encoded', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), fc.string(), (user, password) => {
        const encoded = [user, password].map((part) => encodeURIComponent(part)).join(':');
        expect(parseProxy(`http://${encoded}@p:1`)?.authorization).toBe(
          basic(`${user}:${password}`),
        );
      }),
    );
  });

  it('never throws', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        parseProxy(`http://${text}`);
      }),
    );
  });

  it('is shown with brackets around IPv6', () => {
    expect(hostAndPort('::1', 80)).toBe('[::1]:80');
    expect(hostAndPort('proxy', 80)).toBe('proxy:80');
  });
});

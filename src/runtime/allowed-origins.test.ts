import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { allowsOrigin, isOriginEntry } from './allowed-origins.ts';

describe('an entry', () => {
  it.each([
    'https://shop.example.com',
    'HTTPS://Shop.Example.COM',
    'http://localhost:*',
    'http://localhost:3000',
    'https://*.example.com',
    'https://*.example.com:8443',
    'shop.example.com',
    '*.example.com',
    'localhost',
    'http://127.0.0.1:5173',
    'http://[::1]:5173',
    'https://bücher.example',
    'capacitor://localhost',
    'chrome-extension://abcdefghijklmnop',
    'null',
    '*',
  ])('can be %s', (entry) => {
    expect(isOriginEntry(entry)).toBe(true);
  });

  it.each([
    '',
    ' ',
    'https://',
    'https://shop.example.com/',
    'https://shop.example.com/path',
    'https://ann@shop.example.com',
    'https://shop.example.com:65536',
    'https://shop.example.com:x',
    'https://shop.example.com, https://other.example.com',
    'https://*',
    'https://shop.*.com',
    'https://*shop.example.com',
    '**',
    '*.*.example.com',
    'localhost:3000',
    '*.127.0.0.1',
    'http://*.[::1]',
    'http://[::g]',
    '//shop.example.com',
    'pri*',
    `https://${'a'.repeat(300)}.example.com`,
  ])('cannot be %j', (entry) => {
    expect(isOriginEntry(entry)).toBe(false);
  });
});

describe('a list', () => {
  it.each([
    ['https://shop.example.com', 'https://shop.example.com'],
    ['https://shop.example.com', 'https://shop.example.com:443'],
    ['https://shop.example.com:443', 'https://shop.example.com'],
    ['https://Shop.example.com', 'HTTPS://shop.EXAMPLE.com'],
    ['http://localhost:*', 'http://localhost'],
    ['http://localhost:*', 'http://localhost:5173'],
    ['https://*.example.com', 'https://shop.example.com'],
    ['https://*.example.com', 'https://a.b.example.com'],
    ['shop.example.com', 'http://shop.example.com:8080'],
    ['*.example.com', 'https://shop.example.com'],
    ['https://bücher.example', 'https://xn--bcher-kva.example'],
    ['http://[::1]:5173', 'http://[::1]:5173'],
    ['capacitor://localhost', 'capacitor://localhost'],
    ['null', 'null'],
    ['*', 'null'],
    ['*', 'https://shop.example.com'],
    ['*', 'no origin at all'],
  ])('with %s allows %s', (entry, origin) => {
    expect(allowsOrigin(['https://another.example.org', entry], origin)).toBe(true);
  });

  it.each([
    ['https://shop.example.com', 'http://shop.example.com'],
    ['https://shop.example.com', 'https://shop.example.com:8443'],
    ['https://shop.example.com', 'https://evil-shop.example.com'],
    ['https://shop.example.com', 'https://shop.example.com.evil'],
    ['https://shop.example.com', 'https://shop.example.com@evil.example'],
    ['https://shop.example.com', 'https://shop.example.com, https://shop.example.com'],
    ['https://shop.example.com', 'https://shop.example.com/'],
    ['https://shop.example.com', 'https://shop.example.com.'],
    ['https://shop.example.com', 'null'],
    ['https://shop.example.com', ' https://shop.example.com'],
    ['https://*.example.com', 'https://example.com'],
    ['https://*.example.com', 'https://evilexample.com'],
    ['https://*.example.com', 'https://shop.example.com:8443'],
    ['*.example.com', 'https://example.com'],
    ['shop.example.com', 'https://a.shop.example.com'],
    ['shop.example.com', 'null'],
    ['http://localhost:*', 'https://localhost:3000'],
    ['null', 'https://null'],
  ])('with %s does not allow %s', (entry, origin) => {
    expect(allowsOrigin([entry], origin)).toBe(false);
  });

  it('allows everything while it is empty', () => {
    fc.assert(fc.property(fc.string(), (origin) => allowsOrigin([], origin)));
  });

  it('that has one origin allows no other text', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.webUrl(), fc.domain()),
        (origin) => !allowsOrigin(['https://only.fanfare.test'], origin),
      ),
    );
  });
});

import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { isNoProxy, NoProxy } from './no-proxy.ts';

const covers = (entries: string, host: string) => new NoProxy([entries]).covers(host);

describe('what is reached without a proxy', () => {
  it.each([
    ['example.test', 'example.test'],
    ['example.test', 'a.b.example.test'],
    ['.example.test', 'example.test'],
    ['.example.test', 'a.example.test'],
    ['*.example.test', 'a.example.test'],
    ['Example.TEST.', 'a.EXAMPLE.test.'],
    ['example.test:8443', 'example.test'],
    ['a.test, example.test', 'example.test'],
    ['10.0.0.0/8', '10.200.0.1'],
    ['10.0.0.1', '::ffff:10.0.0.1'],
    ['10.0.0.1:80', '10.0.0.1'],
    ['2001:db8::/32', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['[2001:db8::1]:80', '2001:db8::1'],
    ['*', 'anything.test'],
    ['*', '8.8.8.8'],
  ])('%s covers %s', (entries, host) => {
    expect(covers(entries, host)).toBe(true);
  });

  it.each([
    ['example.test', 'badexample.test'],
    ['a.example.test', 'example.test'],
    ['10.0.0.0/8', '11.0.0.1'],
    ['10.0.0.0/8', '10.example.test'],
    ['10.0.0.1', '10.0.0.10'],
    ['', 'example.test'],
  ])('%s does not cover %s', (entries, host) => {
    expect(covers(entries, host)).toBe(false);
  });

  it.each(['', ',', 'a b/c', 'http://example.test', '169.254/16', 'exa*mple.test', '<local>'])(
    'cannot be: %s',
    (text) => {
      expect(isNoProxy(text)).toBe(false);
    },
  );

  it('never throws', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (entries, host) => {
        covers(entries, host);
        isNoProxy(entries);
      }),
    );
  });
});

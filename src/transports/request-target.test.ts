import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { decodeLeniently, requestTarget, withoutPrefix } from './request-target.ts';

describe('the target of a request', () => {
  it.each([
    ['http://h/a/b?c=d', '/a/b', 'c=d'],
    ['http://127.0.0.1:6001/a', '/a', ''],
    ['https://[::1]:6001/a?', '/a', ''],
    ['http://h/', '/', ''],
    ['http://h', '/', ''],
    ['http://h/a?b?c', '/a', 'b?c'],
    ['http://h/a?b#c', '/a', 'b#c'],
    ['http://h/a?u=http://x/y', '/a', 'u=http://x/y'],
    ['http://h//a', '//a', ''],
    ['/a/b?c=d', '/a/b', 'c=d'],
    ['/a?u=http://x/y', '/a', 'u=http://x/y'],
    ['', '/', ''],
    ['*', '/', ''],
  ])('in %s is %s and "%s"', (url, path, query) => {
    expect(requestTarget(url)).toEqual({ path, query });
  });

  it('is what its sender wrote, with a host before it or without', () => {
    const paths = fc.string().map((text) => `/${text.replaceAll('?', '')}`);
    fc.assert(
      fc.property(
        fc.constantFrom('', 'http://h', 'https://[::1]:1'),
        paths,
        fc.string(),
        (host, path, query) => {
          expect(requestTarget(`${host}${path}?${query}`)).toEqual({ path, query });
        },
      ),
    );
  });

  it('begins with a slash, whatever the address is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (url) => {
        const { path, query } = requestTarget(url);
        expect(path).toStartWith('/');
        expect(path).not.toContain('?');
        expect(query).toBeString();
      }),
    );
  });
});

describe('a path prefix', () => {
  it('is taken off where it is a whole one', () => {
    expect(withoutPrefix('/ws/apps/3', '/ws')).toBe('/apps/3');
    expect(withoutPrefix('/ws/ws/apps', '/ws')).toBe('/ws/apps');
    expect(withoutPrefix('/wsx/apps', '/ws')).toBe('/wsx/apps');
    expect(withoutPrefix('/ws', '/ws')).toBe('/ws');
    expect(withoutPrefix('/apps', '')).toBe('/apps');
  });
});

describe('decoding', () => {
  it('undoes what encoding did', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(decodeLeniently(encodeURIComponent(text))).toBe(text);
      }),
    );
  });

  it('never fails, and changes nothing where there is no percent sign', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('%', 'c', '3', 'a', '9', 'é', 'x') }),
        (text) => {
          expect(decodeLeniently(text)).toBeString();
          expect(decodeLeniently(text.replaceAll('%', ''))).toBe(text.replaceAll('%', ''));
        },
      ),
    );
  });
});

import { expect, it } from 'bun:test';
import { endpointOf, kindOf, ownerOf, shareOf } from './endpoint.ts';

const kinds = ['channels', 'push', 'publish'] as const;

it('differs by kind, owner and address', () => {
  const all = kinds.flatMap((kind) => [
    endpointOf(kind, 'a', 'b.c'),
    endpointOf(kind, 'a', 'b'),
    endpointOf(kind, 'a.b', 'c'),
  ]);
  expect(new Set(all).size).toBe(9);
  for (const endpoint of all) expect(endpoint.length).toBeLessThan(100);
});

it('shows its kind', () => {
  for (const kind of kinds) expect(kindOf(endpointOf(kind, 'a', 'b'))).toBe(kind);
});

it('shares its limit with other addresses of publishes of the instance only', () => {
  const share = (...given: Parameters<typeof endpointOf>) => shareOf(endpointOf(...given));
  expect(share('publish', 'a', 'b')).toBe(share('publish', 'a', 'c'));
  expect(share('publish', 'a', 'b')).not.toBe(share('publish', 'b', 'b'));
  expect(share('push', 'a', 'b')).not.toBe(share('push', 'a', 'c'));
  expect(share('channels', 'a', 'b')).not.toBe(share('channels', 'a', 'c'));
});

it('shows its owner: an app, or an instance with all its kinds', () => {
  const owner = (...given: Parameters<typeof endpointOf>) => ownerOf(endpointOf(...given));
  expect(owner('channels', 'a', 'b')).toBe(owner('channels', 'a', 'c'));
  expect(owner('push', 'a', 'b')).toBe(owner('publish', 'a', 'c'));
  expect(owner('channels', 'a', 'b')).not.toBe(owner('push', 'a', 'b'));
  expect(owner('push', 'a', 'b')).not.toBe(owner('push', 'b', 'b'));
});

it('of an earlier version has a kind, and is its own owner', () => {
  const hash = 'c0ffee'.repeat(5);
  expect([kindOf(hash), ownerOf(hash), shareOf(hash)]).toEqual(['channels', hash, hash]);
  const push = `push.${hash}`;
  expect([kindOf(push), ownerOf(push), shareOf(push)]).toEqual(['push', push, push]);
});

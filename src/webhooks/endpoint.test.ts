import { expect, it } from 'bun:test';
import { endpointOf, kindOf, ownerOf, shareOf } from './endpoint.ts';

const kinds = ['channels', 'push', 'publish'] as const;

it('is another for another kind, owner or address', () => {
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

it('shares its room with the others that publishes of an instance name, and with nothing else', () => {
  const share = (...given: Parameters<typeof endpointOf>) => shareOf(endpointOf(...given));
  expect(share('publish', 'a', 'b')).toBe(share('publish', 'a', 'c'));
  expect(share('publish', 'a', 'b')).not.toBe(share('publish', 'b', 'b'));
  expect(share('push', 'a', 'b')).not.toBe(share('push', 'a', 'c'));
  expect(share('channels', 'a', 'b')).not.toBe(share('channels', 'a', 'c'));
});

it('shows whose it is: of an app, or of an instance, whose kinds count together', () => {
  const owner = (...given: Parameters<typeof endpointOf>) => ownerOf(endpointOf(...given));
  expect(owner('channels', 'a', 'b')).toBe(owner('channels', 'a', 'c'));
  expect(owner('push', 'a', 'b')).toBe(owner('publish', 'a', 'c'));
  expect(owner('channels', 'a', 'b')).not.toBe(owner('push', 'a', 'b'));
  expect(owner('push', 'a', 'b')).not.toBe(owner('push', 'b', 'b'));
});

it('of an earlier version, which shows no owner, is of its kind and an owner of its own', () => {
  const hash = 'c0ffee'.repeat(5);
  expect([kindOf(hash), ownerOf(hash), shareOf(hash)]).toEqual(['channels', hash, hash]);
  const push = `push.${hash}`;
  expect([kindOf(push), ownerOf(push), shareOf(push)]).toEqual(['push', push, push]);
});

import { expect, it } from 'bun:test';
import { endpointOf, kindOf, shareOf } from './endpoint.ts';

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

it('of Channels is what earlier versions wrote into stores', () => {
  expect(endpointOf('channels', 'app', 'https://a.test/hook')).toBe(
    new Bun.CryptoHasher('sha256')
      .update('["channels","app","https://a.test/hook"]')
      .digest('hex')
      .slice(0, 32),
  );
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

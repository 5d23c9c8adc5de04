import { expect, it } from 'bun:test';
import fc from 'fast-check';
import { addressOf, packRemote, portOf } from './remote.ts';

it('gives back what was put in', () => {
  const addresses = fc.oneof(
    fc.ipV4(),
    fc.ipV6(),
    fc.constantFrom('', '::ffff:1.2.3.4', 'fe80::1%eth0'),
  );
  fc.assert(
    fc.property(addresses, fc.integer({ min: 0, max: 65535 }), (address, port) => {
      const remote = packRemote(address, port);
      expect([addressOf(remote), portOf(remote)]).toEqual([address, port]);
    }),
  );
});

it('is a number where it can be', () => {
  expect(packRemote('255.255.255.255', 65535)).toBe(2 ** 48 - 1);
  expect(packRemote('::1', 1)).toBe('1 ::1');
});

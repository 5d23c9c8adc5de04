import { expect, it } from 'bun:test';
import fc from 'fast-check';
import { addressOf, keyOf, packAddress } from './packed-address.ts';

it('gives back what was put in', () => {
  const addresses = fc.oneof(
    fc.ipV4(),
    fc.ipV6(),
    fc.constantFrom('', '::ffff:1.2.3.4', 'fe80::1%eth0'),
  );
  fc.assert(
    fc.property(addresses, (address) => {
      expect(addressOf(packAddress(address))).toBe(address);
    }),
  );
});

it('is a number where it can be', () => {
  expect(packAddress('255.255.255.255')).toBe(2 ** 32 - 1);
  expect(packAddress('::1')).toBe('::1');
});

it('has one key for an IPv4 address, however it arrived, and for the /64 of an IPv6 address', () => {
  const key = (address: string) => keyOf(packAddress(address));
  expect(key('::ffff:1.2.3.4')).toBe(key('1.2.3.4'));
  expect(key('2001:db8::1')).toBe(key('2001:db8::2'));
  expect(key('2001:db8::1')).not.toBe(key('2001:db8:0:1::1'));
});

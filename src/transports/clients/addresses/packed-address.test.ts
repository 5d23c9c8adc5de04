import { expect, it } from 'bun:test';
import fc from 'fast-check';
import { addressText, parseAddress } from '../../../runtime/ip-address.ts';
import { addressOf, keyOf, packAddress } from './packed-address.ts';

it('unpacks to its shortest form', () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (address) => {
      const shortest = addressText(parseAddress(address) ?? []);
      fc.pre(!shortest.startsWith('::ffff:'));
      expect(addressOf(packAddress(address))).toBe(shortest);
    }),
  );
  expect(addressOf(packAddress('2001:db8:0:0::1'))).toBe('2001:db8::1');
  expect(addressOf(packAddress('::ffff:1.2.3.4'))).toBe('1.2.3.4');
});

it('is empty if there is no address', () => {
  for (const text of ['', 'unknown', 'fe80::1%eth0']) {
    expect(addressOf(packAddress(text))).toBe('');
  }
});

it('stays what it is for the peers of Unix sockets, which are one', () => {
  expect(addressOf(packAddress('unix'))).toBe('unix');
  expect(keyOf(packAddress('unix'))).not.toBe(keyOf(packAddress('')));
});

it('is a number for IPv4, and 16 characters otherwise', () => {
  expect(packAddress('255.255.255.255')).toBe(2 ** 32 - 1);
  expect(packAddress('2001:db8:1234:1234:1234:1234:1234:1234')).toHaveLength(16);
});

it('has one key for an IPv4 address, however it arrived, and for the /64 of an IPv6 address', () => {
  const key = (address: string) => keyOf(packAddress(address));
  expect(key('::ffff:1.2.3.4')).toBe(key('1.2.3.4'));
  expect(key('2001:db8::1')).toBe(key('2001:db8::2'));
  expect(key('2001:db8::1')).not.toBe(key('2001:db8:0:1::1'));
});

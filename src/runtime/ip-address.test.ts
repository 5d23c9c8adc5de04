import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import {
  addressKey,
  addressText,
  isInRange,
  isLoopback,
  parseAddress,
  parseRange,
  unmapped,
} from './ip-address.ts';

const bytesOf = (text: string) => parseAddress(text) ?? [];

describe('an address', () => {
  it('is formatted as RFC 5952 says', () => {
    expect(addressText(bytesOf('2001:DB8:0:0:0:0:0:1'))).toBe('2001:db8::1');
    expect(addressText(bytesOf('1.2.3.4'))).toBe('1.2.3.4');
    expect(addressText(unmapped(bytesOf('::ffff:1.2.3.4')))).toBe('1.2.3.4');
    expect(addressText(unmapped(bytesOf('::1')))).toBe('::1');
  });

  it('is of this machine alone if it is a loopback address', () => {
    for (const own of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1']) {
      expect([own, isLoopback(own)]).toEqual([own, true]);
    }
    for (const other of ['128.0.0.1', '::2', '0.0.0.0', '10.0.0.1', 'localhost', '']) {
      expect([other, isLoopback(other)]).toEqual([other, false]);
    }
  });

  it('can be parsed again after formatting', () => {
    const byte = fc.integer({ min: 0, max: 255 });
    const bytes = fc.oneof(
      fc.array(byte, { minLength: 4, maxLength: 4 }),
      fc.array(byte, { minLength: 16, maxLength: 16 }),
    );
    fc.assert(fc.property(bytes, (one) => expect(bytesOf(addressText(one))).toEqual(one)));
  });

  it('is refused if a part is missing, too large or octal, or if it has a zone', () => {
    for (const text of [
      '',
      '1.2.3',
      '1.2.3.256',
      '01.2.3.4',
      '::1%eth0',
      ':::',
      '1::2::3',
      '::g',
    ]) {
      expect(parseAddress(text)).toBeUndefined();
    }
  });
});

describe('a range', () => {
  it('contains the addresses that share its first bits', () => {
    const range = parseRange('10.32.0.0/11');
    if (range === undefined) throw new Error('not read');
    expect(isInRange(bytesOf('10.32.0.0'), range)).toBe(true);
    expect(isInRange(bytesOf('10.63.255.255'), range)).toBe(true);
    expect(isInRange(bytesOf('10.64.0.0'), range)).toBe(false);
    expect(isInRange(bytesOf('::10.32.0.0'), range)).toBe(false);
  });

  it('may contain all addresses, or a single one', () => {
    expect(parseRange('0.0.0.0/0')?.bits).toBe(0);
    expect(parseRange('::1')?.bits).toBe(128);
    expect(parseRange('1.2.3.4')?.bits).toBe(32);
  });
});

describe('the key for limits by address', () => {
  it('is a whole IPv4 address, and the /64 of an IPv6 address', () => {
    expect(addressKey('1.2.3.4')).toBe('1.2.3.4');
    expect(addressKey('::ffff:1.2.3.4')).toBe('1.2.3.4');
    expect(addressKey('2001:db8:1:2:3:4:5:6')).toBe(addressKey('2001:db8:1:2::'));
    expect(addressKey('2001:db8:1:2::')).not.toBe(addressKey('2001:db8:1:3::'));
    expect(addressKey('::1')).not.toBe('::1');
  });

  it('is the IPv4 address of a client behind NAT64', () => {
    expect(addressKey('64:ff9b::1.2.3.4')).toBe('1.2.3.4');
    expect(addressKey('64:ff9b::102:305')).toBe('1.2.3.5');
    expect(addressKey('64:ff9b:1::1.2.3.4')).toBe('64:ff9b:1:0::/64');
  });

  it('is the text itself if that is no address', () => {
    expect(addressKey('')).toBe('');
    expect(addressKey('fe80::1%eth0')).toBe('fe80::1%eth0');
  });
});

import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { parseAddress } from '../runtime/ip-address.ts';
import { classifyAddress, ipv4InIpv6, specialIpv4, specialIpv6 } from './address-class.ts';

/** The address as a number, for stepping over a boundary. */
const numberOf = (bytes: readonly number[]) =>
  bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);

function textOf(value: bigint, size: number): string {
  const hex = value.toString(16).padStart(size * 2, '0');
  return size === 4
    ? (hex.match(/../g) ?? []).map((byte) => Number.parseInt(byte, 16)).join('.')
    : (hex.match(/..../g) ?? []).join(':');
}

function bounds(range: string): {
  first: bigint;
  last: bigint;
  size: number;
} {
  const [address = '', bits = ''] = range.split('/');
  const bytes = parseAddress(address) ?? [];
  const first = numberOf(bytes);
  return {
    first,
    last: first + 2n ** BigInt(bytes.length * 8 - Number(bits)) - 1n,
    size: bytes.length,
  };
}

describe('the table of special addresses', () => {
  for (const [range, what] of specialIpv4) {
    it(`refuses ${range} from its first to its last address, but not its neighbours`, () => {
      const { first, last } = bounds(range);
      const refused = { public: false, what } as const;
      expect(classifyAddress(textOf(first, 4))).toEqual(refused);
      expect(classifyAddress(textOf(last, 4))).toEqual(refused);
      for (const neighbour of [first - 1n, last + 1n]) {
        if (neighbour < 0n || neighbour >= 2n ** 32n) continue;
        const inOther = specialIpv4.some(([other]) => {
          const { first: from, last: to } = bounds(other);
          return other !== range && neighbour >= from && neighbour <= to;
        });
        expect(classifyAddress(textOf(neighbour, 4)).public).toBe(!inOther);
      }
    });
  }

  for (const [range] of specialIpv6) {
    it(`refuses ${range} from its first to its last address`, () => {
      const { first, last } = bounds(range);
      expect(classifyAddress(textOf(first, 16)).public).toBe(false);
      expect(classifyAddress(textOf(last, 16)).public).toBe(false);
    });
  }

  for (const [range, form, at] of ipv4InIpv6) {
    it(`classifies ${form} addresses by the IPv4 address in them`, () => {
      const { first } = bounds(range);
      const wrap = (ipv4: string) =>
        textOf(first + (numberOf(parseAddress(ipv4) ?? []) << BigInt(8 * (12 - at))), 16);
      expect(classifyAddress(wrap('8.8.8.8'))).toEqual({ public: true });
      for (const [inner, what] of specialIpv4) {
        const { first: from, last: to } = bounds(inner);
        for (const end of [from, to]) {
          expect(classifyAddress(wrap(textOf(end, 4)))).toEqual({
            public: false,
            what: `${form}, ${what}`,
          });
        }
      }
    });
  }

  it.each([
    ['2000::', true],
    ['2001:200::', true],
    ['2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff', false],
    ['2001:db7:ffff::', true],
    ['2001:db9::', true],
    ['2003::1', true],
    ['2606:4700:4700::1111', true],
    ['3ffe:ffff::', true],
    ['3fff:0fff::1', false],
    ['3fff:1000::', true],
    ['3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', true],
    ['4000::', false],
    ['1fff:ffff::', false],
    ['64:ff9b:0:0:0:1::', false],
    ['::ffff:0:8.8.8.8', false],
    ['::2', false],
    ['fd00:ec2::254', false],
    ['::ffff:169.254.169.254', false],
    ['::ffff:7f00:1', false],
    ['64:ff9b::10.0.0.1', false],
    ['2002:7f00:1::', false],
  ])('classifies %s as public: %p', (address, isPublic) => {
    expect(classifyAddress(address).public).toBe(isPublic);
  });

  it.each([
    '',
    '1.2.3',
    '1.2.3.4.5',
    '256.1.1.1',
    '01.2.3.4',
    '0x7f.0.0.1',
    '2130706433',
    ' 8.8.8.8',
    '8.8.8.8 ',
    'localhost',
    ':',
    ':::',
    '1::2::3',
    'fe80::1%eth0',
    '2606:4700::1%eth0',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '1:2:3:4:5:6:7::8',
    '12345::',
    '8.8.8.8::',
    '::8.8.8.8:1',
    '[2606:4700::1]',
    '2606:4700::1:',
    ':2606:4700::1',
  ])('%p is no address, so not public', (text) => {
    expect(classifyAddress(text)).toEqual({ public: false, what: 'not an IP address' });
  });

  it('reads every form that the runtime formats', () => {
    const group = fc.integer({ min: 0, max: 0xffff });
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.constant(0), group), { minLength: 8, maxLength: 8 }),
        (groups) => {
          const long = groups.map((value) => value.toString(16)).join(':');
          const short = new URL(`http://[${long}]`).hostname.slice(1, -1);
          expect(parseAddress(short)).toEqual(parseAddress(long) ?? []);
        },
      ),
    );
  });

  it('accepts any text', () => {
    fc.assert(
      fc.property(fc.string(), (text) => typeof classifyAddress(text).public === 'boolean'),
    );
  });
});

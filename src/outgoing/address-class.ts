import {
  type AddressBytes,
  type AddressRange,
  isInRange,
  parseAddress,
  parseRange,
} from '../runtime/ip-address.ts';

/** Whether an address belongs to the public internet; if not, which kind it is. */
export type AddressClass =
  | { readonly public: true }
  | { readonly public: false; readonly what: string };

type Row = readonly [range: string, what: string];

/** The parts of IPv4 that are not public. Source: IANA IPv4 Special-Purpose Address Registry. */
export const specialIpv4: readonly Row[] = [
  ['0.0.0.0/8', 'unspecified'],
  ['10.0.0.0/8', 'private'],
  ['100.64.0.0/10', 'shared address space (CGNAT)'],
  ['127.0.0.0/8', 'loopback'],
  ['168.63.129.16/32', 'Azure platform'],
  ['169.254.0.0/16', 'link-local'],
  ['172.16.0.0/12', 'private'],
  ['192.0.0.0/24', 'IETF protocol assignments'],
  ['192.0.2.0/24', 'documentation'],
  ['192.88.99.0/24', '6to4 relay'],
  ['192.168.0.0/16', 'private'],
  ['198.18.0.0/15', 'benchmarking'],
  ['198.51.100.0/24', 'documentation'],
  ['203.0.113.0/24', 'documentation'],
  ['224.0.0.0/4', 'multicast'],
  ['240.0.0.0/4', 'reserved (class E)'],
];

/** IPv6 ranges that contain an IPv4 address, which decides their class. `byte` is its offset. */
export const ipv4InIpv6: readonly (readonly [range: string, what: string, byte: number])[] = [
  ['::ffff:0:0/96', 'IPv4-mapped', 12],
  ['64:ff9b::/96', 'NAT64', 12],
  ['2002::/16', '6to4', 2],
];

/** The parts of IPv6 that are not public. Source: IANA IPv6 Special-Purpose Address Registry. */
export const specialIpv6: readonly Row[] = [
  ['::/128', 'unspecified'],
  ['::1/128', 'loopback'],
  ['::/96', 'IPv4-compatible'],
  ['64:ff9b:1::/48', 'local NAT64'],
  ['100::/64', 'discard'],
  ['2001::/23', 'IETF protocol assignments (Teredo, ORCHID)'],
  ['2001:db8::/32', 'documentation'],
  ['3fff::/20', 'documentation'],
  ['fc00::/7', 'unique local'],
  ['fe80::/10', 'link-local'],
  ['fec0::/10', 'site-local'],
  ['ff00::/8', 'multicast'],
];

/** The only part of IPv6 that is assigned for the public internet. Source: RFC 4291, 2.4. */
const globalUnicast = '2000::/3';

/**
 * Classifies an address. Text that is no address, or has a zone, does not belong to the public internet.
 */
export function classifyAddress(text: string): AddressClass {
  const bytes = parseAddress(text);
  if (bytes === undefined) return { public: false, what: 'not an IP address' };
  return bytes.length === 4 ? classifyIpv4(bytes) : classifyIpv6(bytes);
}

function classifyIpv4(bytes: AddressBytes): AddressClass {
  const special = specialIpv4.find(([range]) => isInRange(bytes, rangeOf(range)));
  return special === undefined ? { public: true } : { public: false, what: special[1] };
}

function classifyIpv6(bytes: AddressBytes): AddressClass {
  const wrapped = ipv4InIpv6.find(([range]) => isInRange(bytes, rangeOf(range)));
  if (wrapped !== undefined) {
    const [, form, at] = wrapped;
    const inner = classifyIpv4(bytes.slice(at, at + 4));
    return inner.public ? inner : { public: false, what: `${form}, ${inner.what}` };
  }
  const special = specialIpv6.find(([range]) => isInRange(bytes, rangeOf(range)));
  if (special !== undefined) return { public: false, what: special[1] };
  return isInRange(bytes, rangeOf(globalUnicast))
    ? { public: true }
    : { public: false, what: 'not global unicast' };
}

const ranges = new Map<string, AddressRange>();

/** Reads a range of the tables above once. */
function rangeOf(text: string): AddressRange {
  const known = ranges.get(text);
  if (known !== undefined) return known;
  const range = parseRange(text);
  if (range === undefined) throw new Error(`${text} is no range`);
  ranges.set(text, range);
  return range;
}

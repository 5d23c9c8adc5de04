/** Whether an address is one of the public internet. */
export type AddressClass =
  | { readonly public: true }
  | { readonly public: false; readonly what: string };

type Row = readonly [range: string, what: string];

/** What of IPv4 is not the public internet. Source: IANA IPv4 Special-Purpose Address Registry. */
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

/** IPv6 addresses that stand for an IPv4 address: they are what that one is. The byte is where it begins. */
export const ipv4InIpv6: readonly (readonly [range: string, what: string, byte: number])[] = [
  ['::ffff:0:0/96', 'IPv4-mapped', 12],
  ['64:ff9b::/96', 'NAT64', 12],
  ['2002::/16', '6to4', 2],
];

/** What of IPv6 is not the public internet. Source: IANA IPv6 Special-Purpose Address Registry. */
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

/** The only part of IPv6 that is given out for the public internet. Source: RFC 4291, 2.4. */
const globalUnicast = '2000::/3';

/**
 * Tells an address of the public internet from any other. What is no address at all, or has a zone, is not
 * public either.
 */
export function classifyAddress(text: string): AddressClass {
  const bytes = parseAddress(text);
  if (bytes === undefined) return { public: false, what: 'not an IP address' };
  return bytes.length === 4 ? classifyIpv4(bytes) : classifyIpv6(bytes);
}

function classifyIpv4(bytes: readonly number[]): AddressClass {
  const special = specialIpv4.find(([range]) => isWithin(bytes, range));
  return special === undefined ? { public: true } : { public: false, what: special[1] };
}

function classifyIpv6(bytes: readonly number[]): AddressClass {
  const wrapped = ipv4InIpv6.find(([range]) => isWithin(bytes, range));
  if (wrapped !== undefined) {
    const [, form, at] = wrapped;
    const inner = classifyIpv4(bytes.slice(at, at + 4));
    return inner.public ? inner : { public: false, what: `${form}, ${inner.what}` };
  }
  const special = specialIpv6.find(([range]) => isWithin(bytes, range));
  if (special !== undefined) return { public: false, what: special[1] };
  return isWithin(bytes, globalUnicast)
    ? { public: true }
    : { public: false, what: 'not global unicast' };
}

/** The 4 or 16 bytes of an address in its textual form. */
export function parseAddress(text: string): readonly number[] | undefined {
  return text.includes(':') ? parseIpv6(text) : parseIpv4(text);
}

function parseIpv4(text: string): readonly number[] | undefined {
  // Only the plain form: a leading zero means octal to some readers and nothing to others.
  const bytes = text
    .split('.')
    .map((part) => (/^(0|[1-9]\d{0,2})$/.test(part) ? Number(part) : -1));
  return bytes.length === 4 && bytes.every((byte) => byte >= 0 && byte <= 255) ? bytes : undefined;
}

function parseIpv6(text: string): readonly number[] | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const [head, tail] = halves.map((half, index) => parseGroups(half, index === halves.length - 1));
  if (head === undefined) return undefined;
  if (halves.length === 1) return head.length === 16 ? head : undefined;
  // "::" stands for at least one group of zeros.
  if (tail === undefined || head.length + tail.length > 14) return undefined;
  return [...head, ...new Array<number>(16 - head.length - tail.length).fill(0), ...tail];
}

/** The bytes of groups between colons; the last of an address may be an IPv4 address. */
function parseGroups(text: string, last: boolean): readonly number[] | undefined {
  if (text === '') return [];
  const bytes: number[] = [];
  const groups = text.split(':');
  for (const [index, group] of groups.entries()) {
    if (/^[\da-f]{1,4}$/i.test(group)) {
      const value = Number.parseInt(group, 16);
      bytes.push(value >> 8, value & 0xff);
    } else {
      const ipv4 = last && index === groups.length - 1 ? parseIpv4(group) : undefined;
      if (ipv4 === undefined) return undefined;
      bytes.push(...ipv4);
    }
  }
  return bytes;
}

function isWithin(bytes: readonly number[], range: string): boolean {
  const { first, bits } = rangeOf(range);
  if (first.length !== bytes.length) return false;
  for (let index = 0, left = bits; left > 0; index++, left -= 8) {
    const mask = left >= 8 ? 0xff : (0xff00 >> left) & 0xff;
    if (((bytes[index] ?? 0) & mask) !== ((first[index] ?? 0) & mask)) return false;
  }
  return true;
}

const ranges = new Map<string, { readonly first: readonly number[]; readonly bits: number }>();

/** Reads a range of the tables above once. */
function rangeOf(range: string): { readonly first: readonly number[]; readonly bits: number } {
  const known = ranges.get(range);
  if (known !== undefined) return known;
  const [address = '', bits = ''] = range.split('/');
  const parsed = { first: parseAddress(address) ?? [], bits: Number(bits) };
  ranges.set(range, parsed);
  return parsed;
}

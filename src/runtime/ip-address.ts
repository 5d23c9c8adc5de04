/** The 4 or 16 bytes of an IP address, in network order. */
export type AddressBytes = readonly number[];

/** All addresses that share their first `bits` bits with `first`. */
export interface AddressRange {
  readonly first: AddressBytes;
  readonly bits: number;
}

/** Reads an address; `undefined` if the text is not an address or has a zone. */
export function parseAddress(text: string): AddressBytes | undefined {
  return text.includes(':') ? parseIpv6(text) : parseIpv4(text);
}

/** Reads `ADDRESS/BITS`, or a single address. */
export function parseRange(text: string): AddressRange | undefined {
  const [address = '', prefix, ...rest] = text.split('/');
  const first = parseAddress(address);
  if (first === undefined || rest.length > 0) return undefined;
  const bitsMax = first.length * 8;
  if (prefix === undefined) return { first, bits: bitsMax };
  const bits = /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.POSITIVE_INFINITY;
  return bits <= bitsMax ? { first, bits } : undefined;
}

/** Whether an address is in a range. IPv4 addresses are never in an IPv6 range, nor the other way round. */
export function isInRange(address: AddressBytes, { first, bits }: AddressRange): boolean {
  if (first.length !== address.length) return false;
  for (let index = 0, left = bits; left > 0; index++, left -= 8) {
    const mask = left >= 8 ? 0xff : (0xff00 >> left) & 0xff;
    if (((address[index] ?? 0) & mask) !== ((first[index] ?? 0) & mask)) return false;
  }
  return true;
}

/** Converts an IPv4-mapped address (`::ffff:a.b.c.d`) to IPv4; other addresses stay. */
export function unmapped(address: AddressBytes): AddressBytes {
  return address.length === 16 && isInRange(address, IPV4_MAPPED) ? address.slice(12) : address;
}

/** Converts an IPv4-mapped range (`::ffff:a.b.c.d/120`) to IPv4; other ranges stay. */
export function unmappedRange({ first, bits }: AddressRange): AddressRange {
  const plain = bits < IPV4_MAPPED.bits ? first : unmapped(first);
  return { first: plain, bits: bits - (first.length - plain.length) * 8 };
}

/** Whether a text is an address of this machine that no other machine can reach. */
export function isLoopback(text: string): boolean {
  const address = parseAddress(text);
  return address !== undefined && LOOPBACK.some((range) => isInRange(unmapped(address), range));
}

/** Formats an address: IPv4 with dots, IPv6 as in RFC 5952. */
export function addressText(address: AddressBytes): string {
  if (address.length === 4) return address.join('.');
  const groups = groupsOf(address).join(':');
  // The URL standard formats hosts as RFC 5952 does.
  return URL.parse(`http://[${groups}]`)?.hostname.slice(1, -1) ?? groups;
}

/** Hexadecimal groups of two bytes each. */
function groupsOf(address: AddressBytes): string[] {
  const groups: string[] = [];
  for (let at = 0; at < address.length; at += 2) {
    groups.push((((address[at] ?? 0) << 8) | (address[at + 1] ?? 0)).toString(16));
  }
  return groups;
}

const IPV4_MAPPED: AddressRange = {
  first: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0],
  bits: 96,
};

const LOOPBACK: readonly AddressRange[] = [
  { first: [127, 0, 0, 0], bits: 8 },
  { first: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], bits: 128 },
];

/** IPv4 clients behind a NAT64 gateway. Source: RFC 6052, section 2.1. */
const NAT64: AddressRange = {
  first: [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
  bits: 96,
};

/**
 * The key for limits by address: an IPv4 address, also one inside an IPv6 address, or the /64 of an IPv6 address, because
 * one customer of an internet provider has at least that. Text that is no address is its own key.
 */
export function addressKey(text: string): string {
  // Most addresses are plain IPv4.
  if (!text.includes(':')) return text;
  const bytes = parseAddress(text);
  if (bytes === undefined) return text;
  const plain = isInRange(bytes, NAT64) ? bytes.slice(12) : unmapped(bytes);
  return plain.length === 4 ? addressText(plain) : `${groupsOf(plain.slice(0, 8)).join(':')}::/64`;
}

function parseIpv4(text: string): AddressBytes | undefined {
  // Only the plain form: a leading zero means octal to some readers and nothing to others.
  const bytes = text
    .split('.')
    .map((part) => (/^(0|[1-9]\d{0,2})$/.test(part) ? Number(part) : -1));
  return bytes.length === 4 && bytes.every((byte) => byte >= 0 && byte <= 255) ? bytes : undefined;
}

function parseIpv6(text: string): AddressBytes | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const [head, tail] = halves.map((half, index) => parseGroups(half, index === halves.length - 1));
  if (head === undefined) return undefined;
  if (halves.length === 1) return head.length === 16 ? head : undefined;
  // "::" replaces at least one group of zeros.
  if (tail === undefined || head.length + tail.length > 14) return undefined;
  return [...head, ...new Array<number>(16 - head.length - tail.length).fill(0), ...tail];
}

/** The bytes of groups between colons; the last of an address may be an IPv4 address. */
function parseGroups(text: string, last: boolean): AddressBytes | undefined {
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

/** The bytes of an IPv4 or IPv6 address, 4 or 16 of them in network order. */
export type AddressBytes = readonly number[];

/**
 * Writes an address as text: IPv4 with dots, IPv6 as RFC 5952 has it, and an IPv4 address that came
 * in through an IPv6 listener (`::ffff:a.b.c.d`) as IPv4.
 */
export function addressText(bytes: AddressBytes): string {
  const mapped = bytes.length === 16 && bytes.slice(0, 12).join() === '0,0,0,0,0,0,0,0,0,0,255,255';
  if (mapped) return bytes.slice(12).join('.');
  if (bytes.length === 4) return bytes.join('.');

  const groups: string[] = [];
  for (let at = 0; at < bytes.length; at += 2) {
    groups.push((((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)).toString(16));
  }
  return shortestIPv6(groups.join(':')) ?? groups.join(':');
}

/**
 * Brings an address as Bun writes it (`remoteAddress`, `requestIP`) to the form of `addressText`, so
 * that both can be compared. Text that is no address comes back as it is.
 */
export function plainAddress(text: string): string {
  if (!text.includes(':')) return text;
  if (text.startsWith('::ffff:') && text.includes('.')) return text.slice('::ffff:'.length);
  return shortestIPv6(text) ?? text;
}

/** The URL standard writes the host of a URL the way RFC 5952 does. */
function shortestIPv6(text: string): string | undefined {
  return URL.parse(`http://[${text}]`)?.hostname.slice(1, -1);
}

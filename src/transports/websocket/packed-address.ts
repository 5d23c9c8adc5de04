import { addressKey } from '../../runtime/ip-address.ts';

/** The address of a client in as little memory as possible, because each connection keeps one: IPv4 as one number. */
export type PackedAddress = number | string;

const DOT = 0x2e;
const ZERO = 0x30;

export function packAddress(address: string): PackedAddress {
  return packIpv4(address) ?? address;
}

/** `undefined` where it is no IPv4 address. Digit by digit, without garbage: this runs for each connection. */
function packIpv4(address: string): number | undefined {
  let packed = 0;
  let part = -1;
  let dots = 0;
  for (let at = 0; at < address.length; at++) {
    const code = address.charCodeAt(at);
    if (code === DOT && part >= 0 && dots < 3) {
      packed = packed * 256 + part;
      part = -1;
      dots++;
    } else {
      const digit = code - ZERO;
      // A leading zero could not be given back.
      if (digit < 0 || digit > 9 || part === 0) return undefined;
      part = Math.max(0, part) * 10 + digit;
      if (part > 255) return undefined;
    }
  }
  return dots === 3 && part >= 0 ? packed * 256 + part : undefined;
}

export function addressOf(packed: PackedAddress): string {
  if (typeof packed === 'string') return packed;
  return [24, 16, 8, 0].map((bits) => (packed >>> bits) & 255).join('.');
}

/** What limits by address count under: see `addressKey`. */
export function keyOf(packed: PackedAddress): PackedAddress {
  if (typeof packed === 'number') return packed;
  const key = addressKey(packed);
  // An IPv4 address that arrived over IPv6 is that IPv4 address.
  return packIpv4(key) ?? key;
}

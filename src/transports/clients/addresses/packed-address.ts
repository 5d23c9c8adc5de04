import {
  type AddressBytes,
  addressText,
  parseAddress,
  unmapped,
} from '../../../runtime/ip-address.ts';
import { UNIX_PEER } from '../../../runtime/listen-host.ts';

/**
 * The address of a client in as little memory as possible, because each connection keeps one: an IPv4 address as a number,
 * an IPv6 address as its 16 bytes in a string, `unix` as it is, and anything else as `''`.
 */
export type PackedAddress = number | string;

/** The key of limits by address: an IPv4 address, or the /64 of an IPv6 address. */
export type AddressKey = number | string;

const DOT = 0x2e;
const ZERO = 0x30;

export function packAddress(address: string): PackedAddress {
  if (address === UNIX_PEER) return address;
  return packIpv4(address) ?? packBytes(parseAddress(address) ?? []);
}

/** Returns `undefined` if it is no IPv4 address. Digit by digit, to make no garbage: this runs for each connection. */
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
      // A leading zero would be lost.
      if (digit < 0 || digit > 9 || part === 0) return undefined;
      part = Math.max(0, part) * 10 + digit;
      if (part > 255) return undefined;
    }
  }
  return dots === 3 && part >= 0 ? packed * 256 + part : undefined;
}

function packBytes(bytes: AddressBytes): PackedAddress {
  // An IPv4 address that arrived over IPv6 is that IPv4 address.
  const plain = unmapped(bytes);
  if (plain.length === 4) return plain.reduce((packed, byte) => packed * 256 + byte, 0);
  return String.fromCharCode(...plain);
}

export function addressOf(packed: PackedAddress): string {
  if (packed === '' || packed === UNIX_PEER) return packed;
  return addressText(
    typeof packed === 'number'
      ? [24, 16, 8, 0].map((bits) => (packed >>> bits) & 255)
      : Array.from(packed, (byte) => byte.charCodeAt(0)),
  );
}

/** Cheap enough to be called for all connections of a server at once. */
export function keyOf(packed: PackedAddress): AddressKey {
  return typeof packed === 'number' ? packed : packed.slice(0, 8);
}

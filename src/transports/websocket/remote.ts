/**
 * The far end of a TCP connection in as little memory as it takes, because each connection keeps one: IPv4 as one
 * number, anything else as text.
 */
export type Remote = number | string;

const PORTS = 0x10000;
const DOT = 0x2e;
const ZERO = 0x30;

export function packRemote(address: string, port: number): Remote {
  const packed = packIpv4(address);
  return packed === undefined ? `${port} ${address}` : packed * PORTS + port;
}

/** `undefined` where it is none. Digit by digit: what else a connection leaves behind for the collector is as large. */
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
      // A leading zero is not how anybody writes it, and could not be given back.
      if (digit < 0 || digit > 9 || part === 0) return undefined;
      part = Math.max(0, part) * 10 + digit;
      if (part > 255) return undefined;
    }
  }
  return dots === 3 && part >= 0 ? packed * 256 + part : undefined;
}

export function addressOf(remote: Remote): string {
  if (typeof remote === 'string') return remote.slice(remote.indexOf(' ') + 1);
  const packed = Math.floor(remote / PORTS);
  return [24, 16, 8, 0].map((bits) => (packed >>> bits) & 255).join('.');
}

export function portOf(remote: Remote): number {
  return typeof remote === 'string' ? Number.parseInt(remote, 10) : remote % PORTS;
}

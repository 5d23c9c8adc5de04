/**
 * The far end of a TCP connection in as little memory as it takes, because each connection keeps one: IPv4 as one
 * number, anything else as text.
 */
export type Remote = number | string;

const PORTS = 0x10000;
const IPV4 = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/;

export function packRemote(address: string, port: number): Remote {
  const match = IPV4.exec(address);
  if (match === null) return `${port} ${address}`;
  let packed = 0;
  for (const part of match.slice(1)) packed = packed * 256 + Number(part);
  return packed * PORTS + port;
}

export function addressOf(remote: Remote): string {
  if (typeof remote === 'string') return remote.slice(remote.indexOf(' ') + 1);
  const packed = Math.floor(remote / PORTS);
  return [24, 16, 8, 0].map((bits) => (packed >>> bits) & 255).join('.');
}

export function portOf(remote: Remote): number {
  return typeof remote === 'string' ? Number.parseInt(remote, 10) : remote % PORTS;
}

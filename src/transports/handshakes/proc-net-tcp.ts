import { addressText } from './remote-address.ts';

/** An established connection to one of our ports that was accepted, as the kernel lists it. */
export interface OpenConnection {
  readonly localPort: number;
  /** In the form of `addressText`. */
  readonly remoteAddress: string;
  readonly remotePort: number;
  /** Names the connection for as long as it is open, whatever process holds it. */
  readonly inode: number;
}

// sl, local, remote, state 01 (established), queues, timer, retransmits, uid, timeout, inode.
const row =
  /^ *\d+: (?:[\dA-F]{8}|[\dA-F]{32}):([\dA-F]{4}) ([\dA-F]{8}|[\dA-F]{32}):([\dA-F]{4}) 01 \S+ \S+ \S+ +\S+ +\S+ +(\d{1,15}) /gm;

/**
 * Reads the accepted connections to some local ports out of `/proc/net/tcp` or `/proc/net/tcp6`.
 * Lines of any other kind are skipped. Source: proc_pid_net(5), `tcp`; the kernel's `tcp4_seq_show`.
 */
export function parseOpenConnections(
  text: string,
  localPorts: ReadonlySet<number>,
): OpenConnection[] {
  const addresses = new Map<string, string>();
  const connections: OpenConnection[] = [];

  for (const [, localHex = '', addressHex = '', remoteHex = '', inodeText] of text.matchAll(row)) {
    const localPort = Number.parseInt(localHex, 16);
    if (!localPorts.has(localPort)) continue;
    // Without an inode it still waits to be accepted, and no file descriptor of ours is spent on it.
    const inode = Number(inodeText);
    if (inode === 0) continue;

    let remoteAddress = addresses.get(addressHex);
    if (remoteAddress === undefined) {
      remoteAddress = addressText(bytesOfWords(addressHex));
      addresses.set(addressHex, remoteAddress);
    }
    const remotePort = Number.parseInt(remoteHex, 16);
    connections.push({ localPort, remoteAddress, remotePort, inode });
  }
  return connections;
}

/** The kernel prints an address as 32-bit numbers; all that Bun runs on is little-endian. */
function bytesOfWords(hex: string): number[] {
  const bytes: number[] = [];
  for (let at = 0; at < hex.length; at += 8) {
    const word = Number.parseInt(hex.slice(at, at + 8), 16);
    bytes.push(word & 0xff, (word >>> 8) & 0xff, (word >>> 16) & 0xff, word >>> 24);
  }
  return bytes;
}

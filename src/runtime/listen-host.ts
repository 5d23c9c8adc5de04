import { addressText, parseAddress } from './ip-address.ts';

/** A name of a machine. It has a letter, since `0` and `127.1` are addresses to some readers and nothing to others. */
const NAME = /^(?=.*[a-z])[a-z\d_][\w.-]{0,252}$/i;

const UNIX = 'unix:';

/** The longest path that the kernel takes for a Unix socket. Source: unix(7), `sun_path`. */
const PATH_BYTES_MAX = 107;

/** An absolute path in one spelling. Visible ASCII characters without the colon, at which proxies end the path of a socket, and the tilde, at which the names of servers end in cursors. */
const SOCKET_PATH = /^(?:\/[\x21-\x2e\x30-\x39\x3b-\x7d]+)+$/;

/** Stands for the address of a program that connects to a Unix socket: such a connection has none. */
export const UNIX_PEER = 'unix';

/**
 * Reads the host that a listener is given: an IP address, which may have the brackets that it has in URLs, a name, or
 * `unix:` and the path of a Unix socket. Returns it in the one spelling that the runtime takes everywhere; `undefined`
 * if it is none of these.
 */
export function readListenHost(text: string): string | undefined {
  if (text.startsWith(UNIX)) return isSocketPath(text.slice(UNIX.length)) ? text : undefined;
  const bracketed = /^\[(.*:.*)\]$/.exec(text)?.[1];
  const address = parseAddress(bracketed ?? text);
  if (address !== undefined) return addressText(address);
  return bracketed === undefined && NAME.test(text) ? text : undefined;
}

/** Explains why a text is no host to listen on. Completes the sentence that begins with the name of the setting. */
export function listenHostRule(text: string): string {
  if (text.startsWith(UNIX)) {
    return `must be unix: and an absolute path of at most ${PATH_BYTES_MAX} visible ASCII characters without : and ~, such as unix:/run/fanfare/channels.sock`;
  }
  return text.includes('%')
    ? 'must be an IP address without a zone such as %eth0: use :: for all addresses'
    : 'must be an IP address such as 0.0.0.0, :: or [::1], a name of this machine, or unix: and the path of a socket';
}

function isSocketPath(path: string): boolean {
  return path.length <= PATH_BYTES_MAX && SOCKET_PATH.test(path);
}

/** The path of the Unix socket that a host of a listener names; `undefined` if it names an address. */
export function socketPath(host: string): string | undefined {
  return host.startsWith(UNIX) ? host.slice(UNIX.length) : undefined;
}

/** The port to listen on. A Unix socket has none, which is 0. */
export function listenPort({
  host,
  port,
}: {
  readonly host: string;
  readonly port: number;
}): number {
  return host.startsWith(UNIX) ? 0 : port;
}

/** The other end of a connection to a listener. `address`: what the runtime says; `undefined` if it knows none. */
export function peerAddress(host: string, address: string | undefined): string {
  return host.startsWith(UNIX) ? UNIX_PEER : (address ?? '');
}

/** Formats a host as it stands in URLs, and before a port. */
export function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/** Names a listener and the settings that placed it. */
export function listenPlace(
  setting: string,
  { host, port, names }: { readonly host: string; readonly port: number; readonly names?: string },
): string {
  const path = socketPath(host);
  if (path !== undefined) return `${path} (${names ?? `${setting}.host`})`;
  return `${urlHost(host)}:${port} (${names ?? `${setting}.host, ${setting}.port`})`;
}

import { addressText, parseAddress } from './ip-address.ts';

/** A name of a machine. It has a letter, since `0` and `127.1` are addresses to some readers and nothing to others. */
const NAME = /^(?=.*[a-z])[a-z\d_][\w.-]{0,252}$/i;

/**
 * Reads the host that a listener is given: an IP address, which may have the brackets that it has in URLs, or a name.
 * Returns it in the one spelling that the runtime takes everywhere; `undefined` if it is none of these.
 */
export function readListenHost(text: string): string | undefined {
  const bracketed = /^\[(.*:.*)\]$/.exec(text)?.[1];
  const address = parseAddress(bracketed ?? text);
  if (address !== undefined) return addressText(address);
  return bracketed === undefined && NAME.test(text) ? text : undefined;
}

/** Formats a host as it stands in URLs, and before a port. */
export function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

import type { ListenerAddress } from '../node/link/messages.ts';
import { urlHost } from '../runtime/listen-host.ts';

export function urlOf({ host, port, tls }: ListenerAddress): string {
  return `${tls ? 'https' : 'http'}://${urlHost(host)}:${port}`;
}

/** The URL of a listener as programs on its own machine reach it. */
export function ownAddress(address: ListenerAddress): string {
  return urlOf({ ...address, host: ownHost(address.host) });
}

/** Hosts that stand for all addresses of a machine, and its own address among those. */
const OWN_HOSTS = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
]);

/** The host of a listener as programs on its own machine reach it. */
export function ownHost(host: string): string {
  return OWN_HOSTS.get(host) ?? host;
}

import type { ListenerAddress } from '../node/link/messages.ts';
import { socketPath, urlHost } from '../runtime/listen-host.ts';

/** The URL of a listener; of a Unix socket its name as in the settings. */
export function urlOf({ host, port, tls }: ListenerAddress): string {
  if (socketPath(host) !== undefined) return host;
  return `${tls ? 'https' : 'http'}://${urlHost(host)}:${port}`;
}

/** The URL of a listener as programs on its own machine reach it. */
export function ownAddress(address: ListenerAddress): string {
  return urlOf({ ...address, host: ownHost(address.host) });
}

/** The URL of a listener as browsers on its own machine reach it. They reach a Unix socket through a proxy only. */
export function browserAddress(address: ListenerAddress): string {
  return socketPath(address.host) === undefined ? ownAddress(address) : `https://${PROXY_HOST}`;
}

/** Stands for the name of a proxy in what people copy. */
export const PROXY_HOST = 'YOUR-HOST';

/** Whether a configuration does not say where its listener is. */
export function isAnyPort({ host, port }: Pick<ListenerAddress, 'host' | 'port'>): boolean {
  return port === 0 && socketPath(host) === undefined;
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

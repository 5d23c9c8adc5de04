import type { ListenerAddress } from '../node/link/messages.ts';

export function urlOf({ host, port, tls }: ListenerAddress): string {
  return `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The URL of a listener as programs on its own machine reach it. */
export function ownAddress(address: ListenerAddress): string {
  return urlOf({ ...address, host: ownHost(address.host) });
}

/** The host of a listener as programs on its own machine reach it. */
export function ownHost(host: string): string {
  return host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
}

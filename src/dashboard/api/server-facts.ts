import { signal } from '@preact/signals';
import { type Answer, call } from './client.ts';

/** Facts about the server; `undefined` until it has answered. */
export const serverFacts = signal<Answer<'GET /server'> | undefined>(undefined);

/** Whether the server runs another version than the one that this page came from. */
export const hasNewVersion = signal(false);

const EVERY_MS = 60_000;

/** Asks what the server is, now and every minute while the tab is visible. */
export async function askServerFacts(): Promise<void> {
  try {
    const facts = await call('GET /server');
    const { version = facts.version } = serverFacts.value ?? {};
    hasNewVersion.value = version !== facts.version;
    serverFacts.value = hasNewVersion.value ? { ...facts, version } : facts;
  } catch {
    // Each page shows its own errors.
  }
  setTimeout(function again() {
    if (document.hidden) document.addEventListener('visibilitychange', again, { once: true });
    else void askServerFacts();
  }, EVERY_MS);
}

/** Whether a listener is reached through a proxy only, which is then that of this page. */
function isSocket(host: string): boolean {
  return host.startsWith('unix:');
}

/** The origin of the push API as this browser reaches it. The page may talk to no other. */
export function pushOrigin(): string {
  const { host, port, tls, publicUrl } = serverFacts.value?.listeners.push ?? {
    host: '',
    port: 6002,
    tls: false,
    publicUrl: null,
  };
  if (publicUrl === null && isSocket(host)) return location.origin;
  return publicUrl ?? `${tls ? 'https' : 'http'}://${location.hostname}:${port}`;
}

/** The Channels listener as this browser reaches it. */
export function channelsAddress(): {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  readonly pathPrefix: string;
} {
  const {
    host,
    port,
    tls,
    pathPrefix = '',
  } = serverFacts.value?.listeners.channels ?? { host: '', port: 6001, tls: false };
  if (isSocket(host)) {
    const { hostname, protocol } = location;
    const isSecure = protocol === 'https:';
    const shown = Number(location.port) || (isSecure ? 443 : 80);
    return { host: hostname, port: shown, tls: isSecure, pathPrefix };
  }
  const isAnyAddress = ['', '0.0.0.0', '::', '127.0.0.1', 'localhost', '::1'].includes(host);
  return { host: isAnyAddress ? location.hostname : host, port, tls, pathPrefix };
}

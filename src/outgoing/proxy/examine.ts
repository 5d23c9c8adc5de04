import { monotonicTimers } from '../../runtime/system-timers.ts';
import { createOpenWire, type WireOpening } from '../http2/connecting/open-wire.ts';
import type { ForwardProxy } from './forward-proxy.ts';
import type { ProxyReason } from './proxy-fault.ts';

/** The result of one check. */
export type ProxyFinding = { readonly name: 'proxy' } & (
  | { readonly result: 'ok'; readonly detail: string }
  | { readonly result: 'failed'; readonly detail: string; readonly advice: string }
);

export interface ExamineProxyOptions {
  readonly proxy: ForwardProxy;
  /** The timeout of each check. */
  readonly timeoutMs: number;
}

/** What a server connects to for each platform. All speak HTTP/2. */
const HOSTS = [
  'api.push.apple.com',
  'fcm.googleapis.com',
  'oauth2.googleapis.com',
  'updates.push.services.mozilla.com',
];

const advice: Readonly<Record<ProxyReason | 'no-http2' | 'unreachable', string>> = {
  'proxy-unreachable':
    'Check host and port in outgoing.proxy, and that this machine may connect to it.',
  'proxy-refused':
    'Status 407: check user and password in outgoing.proxy. 403: allow CONNECT to this host and port 443 in the proxy. 502, 503 or 504: the proxy cannot look the name up, or not reach the host.',
  'no-http2':
    'Something between the proxy and the host ends TLS and does not speak HTTP/2. Exempt this host from inspection.',
  unreachable:
    'The tunnel is open, but TLS does not work in it. A certificate that is not trusted comes from a proxy that inspects TLS: exempt this host from that.',
};

/** Opens a connection to each gateway of the vendors through the proxy, and sends nothing over it. */
export async function* examineProxy({
  proxy,
  timeoutMs,
}: ExamineProxyOptions): AsyncGenerator<ProxyFinding> {
  const openWire = createOpenWire(monotonicTimers);
  for (const host of HOSTS) {
    if (!proxy.serves(host)) {
      yield { name: 'proxy', result: 'ok', detail: `${host}: outgoing.noProxy excludes it` };
      continue;
    }
    let isOpen = false;
    const target = { address: host, port: 443, serverName: host, ca: undefined, timeoutMs, proxy };
    const opening = await openWire(target, () => {
      isOpen = true;
      // Nothing more is needed, so the connection is closed again.
      return undefined;
    });
    yield isOpen || opening.ok
      ? { name: 'proxy', result: 'ok', detail: `${host}: reached through proxy ${proxy.name}` }
      : failed(host, proxy, opening);
  }
}

function failed(
  host: string,
  proxy: ForwardProxy,
  { why, noHttp2, proxyReason }: Extract<WireOpening, { readonly ok: false }>,
): ProxyFinding {
  const reason = noHttp2 ? 'no-http2' : (proxyReason ?? 'unreachable');
  // The words about the proxy name it already.
  const detail = proxyReason === undefined ? `${why}, through proxy ${proxy.name}` : why;
  return { name: 'proxy', result: 'failed', detail: `${host}: ${detail}`, advice: advice[reason] };
}

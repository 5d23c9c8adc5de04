import { errorCode, errorWord, messageOf } from '../../runtime/error-code.ts';
import { hostAndPort } from '../../runtime/proxy/proxy-address.ts';
import { monotonicTimers } from '../../runtime/system-timers.ts';
import { isNotConnected } from '../not-connected.ts';
import type { ForwardProxy } from './forward-proxy.ts';
import { ProxyFault, proxyRefused, proxyUnreachable } from './proxy-fault.ts';
import { watchProxy } from './proxy-watch.ts';

type Init = Omit<BunFetchRequestInit, 'proxy'> & { readonly signal: AbortSignal };

/** The status of a proxy that wants another user or password. No server may answer with it. */
const PROXY_AUTHENTICATION_REQUIRED = 407;

/**
 * Calls `fetch` through a proxy, or directly, whatever proxy the environment names. Through a proxy, https goes by a
 * tunnel and http in absolute form. Throws `ProxyFault` if the proxy is the cause, and otherwise what `fetch` throws.
 */
export async function fetchThrough(
  proxy: ForwardProxy | undefined,
  url: URL,
  init: Init,
): Promise<Response> {
  if (proxy === undefined) return await fetch(url, { ...init, proxy: false });
  let fault = proxyUnreachable(proxy.name, 'the name has no address');
  for (const address of await proxy.addresses(init.signal)) {
    try {
      return await fetchOver(address, proxy, url, init);
    } catch (error) {
      init.signal.throwIfAborted();
      // Only the proxy was connected to.
      if (!isNotConnected(errorWord(error))) throw error;
      fault = proxyUnreachable(proxy.name, errorWord(error));
    }
  }
  throw fault;
}

/**
 * Fetches from a host that the operator chose. The proxy gets its name, unless the host is reached without it. `timeoutMs` counts
 * for the body too. Throws `ProxyFault` also if the proxy lets the time pass.
 */
export async function fetchByName(
  proxy: ForwardProxy | undefined,
  url: URL,
  { timeoutMs, ...init }: Init & { readonly timeoutMs: number },
): Promise<Response> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const through = proxy?.serves(host) === true ? proxy : undefined;
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([init.signal, timeout]);
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
  using watch = through && watchProxy({ proxy: through, host, port, timeoutMs }, monotonicTimers);
  try {
    return await fetchThrough(through, url, { ...init, signal });
  } catch (error) {
    throw (timeout.aborted ? watch?.fault() : undefined) ?? error;
  }
}

async function fetchOver(
  address: string,
  { name, port, fields }: ForwardProxy,
  url: URL,
  init: Init,
): Promise<Response> {
  const proxyUrl = `http://${hostAndPort(address, port)}`;
  let response: Response;
  try {
    // The environment may exclude hosts. Those that need no proxy are known already.
    const proxy = { url: proxyUrl, headers: fields, respectNoProxy: false };
    response = await fetch(url, { ...init, proxy });
  } catch (error) {
    throw errorCode(error) === 'ERR_PROXY_TUNNEL' ? refusal(name, error) : error;
  }
  if (url.protocol !== 'http:' || response.status !== PROXY_AUTHENTICATION_REQUIRED) {
    return response;
  }
  await response.body?.cancel();
  throw proxyRefused(name, response.status);
}

/** The runtime gives the status in the text of its error alone. */
function refusal(name: string, error: unknown): ProxyFault {
  const status = Number(/: ([1-5]\d\d)\b/.exec(messageOf(error))?.[1]);
  return Number.isNaN(status)
    ? new ProxyFault('proxy-refused', `proxy ${name} opened no tunnel`)
    : proxyRefused(name, status);
}

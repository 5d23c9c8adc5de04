import type { Config } from '../../config/schema.ts';
import { NO_PROXY_AT_ALL } from '../../config/settings/outgoing-settings.ts';
import { ForwardProxy } from '../../outgoing/proxy/forward-proxy.ts';
import type { Resolver } from '../../outgoing/resolve.ts';
import type { Log } from '../../runtime/ports.ts';
import { NoProxy } from '../../runtime/proxy/no-proxy.ts';
import { parseProxy } from '../../runtime/proxy/proxy-address.ts';

/** Whose quota of name lookups the name of the proxy counts against. */
const OWNER = 'outgoing.proxy';

/** The proxy that requests leave this server through; `undefined` if there is none. */
export function forwardProxyOf(
  { outgoing }: Pick<Config, 'outgoing'>,
  resolver: Resolver,
): ForwardProxy | undefined {
  const { proxy: text, noProxy, proxyNames } = outgoing;
  const address = text === null || text === NO_PROXY_AT_ALL ? undefined : parseProxy(text);
  if (address === undefined) return undefined;
  return new ForwardProxy({
    address,
    noProxy: new NoProxy(noProxy ?? []),
    passNames: proxyNames === 'pass',
    lookUp: (host, signal) => resolver.resolve(host, { owner: OWNER, signal }),
  });
}

/** Opens the forward proxy, and says so in the log. */
export function openForwardProxy(
  config: Pick<Config, 'outgoing'>,
  resolver: Resolver,
  log: Log,
): ForwardProxy | undefined {
  const proxy = forwardProxyOf(config, resolver);
  if (proxy === undefined) return undefined;
  log.info('Outgoing requests go through a proxy', { proxy: proxy.name });
  if (proxy.passNames) {
    log.warn('The proxy looks up names: it must refuse private addresses', { proxy: proxy.name });
  }
  return proxy;
}

import type { Config } from '../../config/schema.ts';
import { createSystemLookup } from '../../outgoing/name-servers.ts';
import { ForwardProxy } from '../../outgoing/proxy/forward-proxy.ts';
import { Resolver } from '../../outgoing/resolve.ts';
import { SystemNames } from '../../outgoing/system-names.ts';
import { LogThrottle } from '../../runtime/logging/log-throttle.ts';
import type { Log } from '../../runtime/ports.ts';
import { NoProxy } from '../../runtime/proxy/no-proxy.ts';
import { NO_PROXY_AT_ALL, parseProxy } from '../../runtime/proxy/proxy-address.ts';
import { monotonicTimers, systemTimers } from '../../runtime/system-timers.ts';

/** The owner whose quota of name lookups the name of the proxy counts against. */
const OWNER = 'outgoing.proxy';

/** Opens the resolver for all host names that tenants choose. Its limits hold for the whole process. */
export function openResolver(log: Log): Resolver {
  const throttle = new LogThrottle(systemTimers);
  const names = new SystemNames({ now: monotonicTimers.now });
  return new Resolver({
    lookup: createSystemLookup({ names }),
    timers: monotonicTimers,
    onRefused(owner) {
      throttle.run(owner, (throttled) =>
        log.warn('Name lookups refused: too many at once', { owner, ...throttled }),
      );
    },
  });
}

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

import type { Config } from '../config/schema.ts';
import { createSystemLookup } from '../outgoing/name-servers.ts';
import { examineProxy, type ProxyFinding } from '../outgoing/proxy/examine.ts';
import { Resolver } from '../outgoing/resolve.ts';
import { SystemNames } from '../outgoing/system-names.ts';
import { monotonicTimers } from '../runtime/system-timers.ts';
import { forwardProxyOf } from './background/outgoing.ts';

/** Examines the proxy of a configuration the way a server uses it; `undefined` if there is none. */
export function examineProxyOf(
  config: Pick<Config, 'outgoing'>,
  timeoutMs: number,
): AsyncGenerator<ProxyFinding> | undefined {
  const names = new SystemNames({ now: monotonicTimers.now });
  const resolver = new Resolver({ lookup: createSystemLookup({ names }), timers: monotonicTimers });
  const proxy = forwardProxyOf(config, resolver);
  return proxy && examineProxy({ proxy, timeoutMs });
}

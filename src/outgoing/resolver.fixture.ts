import { monotonicTimers } from '../runtime/system-timers.ts';
import { Resolver } from './resolve.ts';

/** A resolver on this lookup, without a cache. */
export function resolverBy(lookup: (host: string) => Promise<readonly string[]>): Resolver {
  return new Resolver({
    lookup: async (host) => ({ addresses: await lookup(host), keepMs: 0 }),
    timers: monotonicTimers,
  });
}

/** A resolver for which every name has these addresses. */
export function resolverTo(...addresses: readonly string[]): Resolver {
  return resolverBy(async () => addresses);
}

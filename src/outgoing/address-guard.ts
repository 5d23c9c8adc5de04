import { errorWord } from '../runtime/error-code.ts';
import { parseAddress } from '../runtime/ip-address.ts';
import { classifyAddress } from './address-class.ts';
import type { FindAddresses, FoundAddresses } from './http2/connecting/addresses.ts';
import type { ForwardProxy } from './proxy/forward-proxy.ts';
import type { LookupContext, Resolver } from './resolve.ts';

export interface GuardOptions {
  readonly allowPrivateAddresses: boolean;
  /** The setting that allows them. Refusals name it. */
  readonly allowedBy?: string;
  /** Shared by all guards of a process. */
  readonly resolver: Pick<Resolver, 'resolve'>;
  readonly proxy?: ForwardProxy | undefined;
  /** The operator chose the hosts: their names go to the proxy, which looks them up. */
  readonly passNames?: boolean;
}

/** Timeout of lookups for long-lived connections. */
const LOOKUP_MS_MAX = 10_000;

/**
 * Looks up a host that a tenant or a device chose; it may be an IP address. The caller must connect to one of the
 * addresses given, and no other, through the proxy if there is one. Throws if the name cannot be resolved, and once the
 * signal is aborted.
 */
export async function findGuarded(
  host: string,
  options: GuardOptions,
  context: LookupContext,
): Promise<FoundAddresses> {
  const { resolver, allowPrivateAddresses, allowedBy } = options;
  const proxy = options.proxy?.serves(host) === true ? options.proxy : undefined;
  const isName = parseAddress(host) === undefined;
  if (isName && proxy !== undefined && (options.passNames === true || proxy.passNames)) {
    return { ok: true, addresses: [host], proxy };
  }
  const addresses = isName ? await resolver.resolve(host, context) : [host];
  const refused = allowPrivateAddresses ? undefined : firstRefused(addresses);
  return refused === undefined
    ? { ok: true, addresses, proxy: proxyFor(addresses, proxy) }
    : {
        ok: false,
        allowed: false,
        why: allowedBy === undefined ? refused : `${refused}; ${allowedBy} allows it`,
      };
}

/** An address of this machine, or one that needs no proxy, is enough: honest names do not mix them. */
function proxyFor(
  addresses: readonly string[],
  proxy: ForwardProxy | undefined,
): ForwardProxy | undefined {
  return proxy !== undefined && addresses.every((address) => proxy.serves(address))
    ? proxy
    : undefined;
}

/** One private address among several is enough to refuse a name: honest names do not mix them. */
function firstRefused(addresses: readonly string[]): string | undefined {
  for (const address of addresses) {
    const found = classifyAddress(address);
    if (!found.public) return `${address} is not a public address (${found.what})`;
  }
  return undefined;
}

/** Makes the lookup for long-lived connections, with the same guard. `ownerOf` returns whose quota a lookup counts against. */
export function createGuardedLookup(
  options: GuardOptions,
  ownerOf: (host: string) => string,
): FindAddresses {
  return async (host) => {
    try {
      const signal = AbortSignal.timeout(LOOKUP_MS_MAX);
      return await findGuarded(host, options, { owner: ownerOf(host), signal });
    } catch (error) {
      return { ok: false, allowed: true, why: errorWord(error) };
    }
  };
}

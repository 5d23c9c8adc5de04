import { errorWord } from '../runtime/error-code.ts';
import { parseAddress } from '../runtime/ip-address.ts';
import { classifyAddress } from './address-class.ts';
import type { FindAddresses } from './http2/addresses.ts';
import type { LookupContext, Resolver } from './resolve.ts';

export interface GuardOptions {
  readonly allowPrivateAddresses: boolean;
  /** Shared by all guards of a process. */
  readonly resolver: Pick<Resolver, 'resolve'>;
}

/** The addresses of a host, in the order in which to try them; or why none may be connected to. */
export type GuardedAddresses =
  | { readonly ok: true; readonly addresses: readonly string[] }
  | { readonly ok: false; readonly why: string };

/** Timeout of lookups for long-lived connections. */
const LOOKUP_MS_MAX = 10_000;

/** Looks up hosts that tenants and devices chose. The caller must connect to one of the addresses given, and no other. */
export class AddressGuard {
  private readonly options: GuardOptions;

  constructor(options: GuardOptions) {
    this.options = options;
  }

  /** `host` may be an IP address. Throws if the name cannot be resolved, and once the signal is aborted. */
  async check(host: string, context: LookupContext): Promise<GuardedAddresses> {
    const { resolver, allowPrivateAddresses } = this.options;
    const addresses =
      parseAddress(host) === undefined ? await resolver.resolve(host, context) : [host];
    const refused = allowPrivateAddresses ? undefined : firstRefused(addresses);
    return refused === undefined ? { ok: true, addresses } : { ok: false, why: refused };
  }
}

/** One private address among several is enough to refuse a name: honest names do not mix them. */
function firstRefused(addresses: readonly string[]): string | undefined {
  for (const address of addresses) {
    const found = classifyAddress(address);
    if (!found.public) return `${address} is not a public address (${found.what})`;
  }
  return undefined;
}

/** Makes the lookup for long-lived connections, with the same guard. `ownerOf` gives whose quota a lookup counts against. */
export function createGuardedLookup(
  options: GuardOptions,
  ownerOf: (host: string) => string,
): FindAddresses {
  const guard = new AddressGuard(options);
  return async (host) => {
    try {
      const signal = AbortSignal.timeout(LOOKUP_MS_MAX);
      const found = await guard.check(host, { owner: ownerOf(host), signal });
      return found.ok ? found : { ok: false, allowed: false, why: found.why };
    } catch (error) {
      return { ok: false, allowed: true, why: errorWord(error) };
    }
  };
}

import { parseAddress } from '../runtime/ip-address.ts';
import { classifyAddress } from './address-class.ts';
import type { Asker, Resolver } from './resolve.ts';

export interface GuardOptions {
  readonly allowPrivateAddresses: boolean;
  /** One for all guards of a process. */
  readonly resolver: Pick<Resolver, 'resolve'>;
}

/** The addresses of a host, in the order in which they are to be tried; or why none of them may be connected to. */
export type GuardedAddresses =
  | { readonly ok: true; readonly addresses: readonly string[] }
  | { readonly ok: false; readonly why: string };

/** How long the lookup may take where nobody else gives a time. */
const LOOKUP_MS_MAX = 10_000;

/** Looks up hosts that somebody else chose. The caller must connect to an address that it gave, and no other. */
export class AddressGuard {
  private readonly options: GuardOptions;

  constructor(options: GuardOptions) {
    this.options = options;
  }

  /** `host` may be an IP address. Throws where the name cannot be resolved, or as soon as the signal is aborted. */
  async check(host: string, asker: Asker): Promise<GuardedAddresses> {
    const { resolver, allowPrivateAddresses } = this.options;
    const addresses =
      parseAddress(host) === undefined ? await resolver.resolve(host, asker) : [host];
    const refused = allowPrivateAddresses ? undefined : firstRefused(addresses);
    return refused === undefined ? { ok: true, addresses } : { ok: false, why: refused };
  }
}

/** One private address among several is enough to refuse a name: an honest one does not mix them. */
function firstRefused(addresses: readonly string[]): string | undefined {
  for (const address of addresses) {
    const found = classifyAddress(address);
    if (!found.public) return `${address} is not a public address (${found.what})`;
  }
  return undefined;
}

/** Finds the addresses of a host for a connection. `allowed` is `false` where the guard refuses them. */
export type FindGuarded = (
  host: string,
) => Promise<
  | { readonly ok: true; readonly addresses: readonly string[] }
  | { readonly ok: false; readonly allowed: boolean; readonly why: string }
>;

/**
 * Makes the function by which long-lived connections find where to go, past the same guard. It never throws.
 * `ownerOf` says whose a name is.
 */
export function createGuardedLookup(
  options: GuardOptions,
  ownerOf: (host: string) => string,
): FindGuarded {
  const guard = new AddressGuard(options);
  return async (host) => {
    try {
      const signal = AbortSignal.timeout(LOOKUP_MS_MAX);
      const found = await guard.check(host, { owner: ownerOf(host), signal });
      return found.ok ? found : { ok: false, allowed: false, why: found.why };
    } catch (error) {
      return { ok: false, allowed: true, why: codeOf(error) };
    }
  };
}

/** Says what failed in a word. Never the message: Bun's contains the URL, and that may hold a secret. */
export function codeOf(error: unknown): string {
  if (error instanceof Error) return 'code' in error ? String(error.code) : error.name;
  return 'unknown';
}

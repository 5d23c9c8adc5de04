import { parseAddress } from '../runtime/ip-address.ts';
import { classifyAddress } from './address.ts';
import { type Lookup, Resolver } from './resolve.ts';

export interface GuardOptions {
  readonly allowPrivateAddresses: boolean;
  readonly lookup?: Lookup;
}

/** The addresses of a host, in the order in which they are to be tried; or why none of them may be connected to. */
export type GuardedAddresses =
  | { readonly ok: true; readonly addresses: readonly string[] }
  | { readonly ok: false; readonly why: string };

/** How long a name server may take where nobody else gives a time. */
const LOOKUP_MS_MAX = 10_000;

/** Looks hosts up that somebody else chose. Whoever connects must connect to an address that it gave, and no other. */
export class AddressGuard {
  private readonly allowPrivateAddresses: boolean;
  private readonly resolver: Resolver;

  constructor({ allowPrivateAddresses, lookup }: GuardOptions) {
    this.allowPrivateAddresses = allowPrivateAddresses;
    this.resolver = new Resolver(lookup);
  }

  /** `host` may be an IP address. Throws where the name cannot be looked up, or as soon as `signal` is aborted. */
  async check(host: string, signal: AbortSignal): Promise<GuardedAddresses> {
    const addresses =
      parseAddress(host) === undefined ? await this.resolver.resolve(host, signal) : [host];
    const refused = this.allowPrivateAddresses ? undefined : firstRefused(addresses);
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

/** What connections ask for the addresses of a host. `allowed` is `false` where the guard refuses them. */
export type FindGuarded = (
  host: string,
) => Promise<
  | { readonly ok: true; readonly addresses: readonly string[] }
  | { readonly ok: false; readonly allowed: boolean; readonly why: string }
>;

/** Makes the function by which connections that are kept find where to go, past the same guard. It never throws. */
export function createFindGuarded(options: GuardOptions): FindGuarded {
  const guard = new AddressGuard(options);
  return async (host) => {
    try {
      const found = await guard.check(host, AbortSignal.timeout(LOOKUP_MS_MAX));
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

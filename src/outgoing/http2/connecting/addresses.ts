import type { ForwardProxy } from '../../proxy/forward-proxy.ts';

/** The addresses of a host, in the order in which to try them; or why there are none. */
export type FoundAddresses =
  | {
      readonly ok: true;
      /** Through a proxy, a name may stand for its addresses. */
      readonly addresses: readonly string[];
      /** Connect through this proxy. */
      readonly proxy?: ForwardProxy | undefined;
    }
  /** `allowed` is `false` if the host has addresses that may not be used. `why` is a code or a few words. */
  | { readonly ok: false; readonly allowed: boolean; readonly why: string };

/** Finds the addresses of a host, which may be an IP address. It is called for each connection, and never throws. */
export type FindAddresses = (host: string) => Promise<FoundAddresses>;

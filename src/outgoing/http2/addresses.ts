/** The addresses of a host to connect to, in order; or why there are none. */
export type FoundAddresses =
  | { readonly ok: true; readonly addresses: readonly string[] }
  /** `allowed` is `false` where there are some and they may not be used. `why` is a code, or a few words. */
  | { readonly ok: false; readonly allowed: boolean; readonly why: string };

/** Finds the addresses of a host, which may be an IP address itself. It is asked anew for each connection, and never throws. */
export type FindAddresses = (host: string) => Promise<FoundAddresses>;

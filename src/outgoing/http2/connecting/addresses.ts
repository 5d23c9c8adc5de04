/** The addresses of a host, in the order in which to try them; or why there are none. */
export type FoundAddresses =
  | { readonly ok: true; readonly addresses: readonly string[] }
  /** `allowed` is `false` if the host has addresses that may not be used. `why` is a code or a few words. */
  | { readonly ok: false; readonly allowed: boolean; readonly why: string };

/** Finds the addresses of a host, which may be an IP address. It is called for each connection, and never throws. */
export type FindAddresses = (host: string) => Promise<FoundAddresses>;

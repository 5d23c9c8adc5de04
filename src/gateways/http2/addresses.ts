import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';

/** The addresses of a host to connect to, in order; or why there are none. */
export type FoundAddresses =
  | { readonly ok: true; readonly addresses: readonly string[] }
  /** `allowed` is `false` where there are some and they may not be used. `why` is a code, or a few words. */
  | { readonly ok: false; readonly allowed: boolean; readonly why: string };

/** Finds the addresses of a host, which may be an IP address itself. It is asked anew for each connection, and never throws. */
export type FindAddresses = (host: string) => Promise<FoundAddresses>;

/** Asks the system; IPv4 first: where IPv6 is announced but leads nowhere, it would eat the time. */
export const findAnyAddress: FindAddresses = async (host) => {
  if (isIP(host) !== 0) return { ok: true, addresses: [host] };
  try {
    const found = await lookup(host, { all: true });
    const addresses = found.toSorted((a, b) => a.family - b.family).map(({ address }) => address);
    return { ok: true, addresses };
  } catch (error) {
    const why = error instanceof Error && 'code' in error ? String(error.code) : 'no address';
    return { ok: false, allowed: true, why };
  }
};

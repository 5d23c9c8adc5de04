import {
  type AddressRange,
  addressText,
  isInRange,
  parseAddress,
  parseRange,
  unmapped,
  unmappedRange,
} from './ip-address.ts';
import { UNIX_PEER } from './listen-host.ts';

/** The two headers in which a proxy may name the client; `undefined` if the request has none. */
export interface ForwardingHeaders {
  readonly xForwardedFor: string | undefined;
  /** RFC 7239. */
  readonly forwarded: string | undefined;
}

/** The two headers in which a proxy may name the scheme that the client used. */
export interface SchemeHeaders {
  readonly xForwardedProto: string | undefined;
  /** RFC 7239. */
  readonly forwarded: string | undefined;
}

/** Entries of one header that are read, from the last one back. Real chains are shorter. */
const HOPS_MAX = 32;

/**
 * Finds the client address behind trusted proxies. Headers of any other sender are ignored.
 */
export class TrustedProxies {
  private readonly ranges: readonly AddressRange[];
  private readonly trustsUnix: boolean;

  /**
   * `ranges`: addresses and CIDR ranges, as in the setting `trustedProxies`, or `unix` for the peers of Unix sockets.
   * Throws on anything else.
   */
  constructor(ranges: readonly string[]) {
    this.trustsUnix = ranges.includes(UNIX_PEER);
    this.ranges = ranges
      .filter((text) => text !== UNIX_PEER)
      .map((text) => {
        const range = parseRange(text);
        if (range === undefined) {
          throw new Error(`${text} is neither an IP address nor a CIDR range`);
        }
        return unmappedRange(range);
      });
  }

  /** The proxies in front of a listener. Only programs of this machine that may write to a Unix socket reach it, so each is trusted. */
  static ofListeners(ranges: readonly string[]): TrustedProxies {
    return new TrustedProxies([...ranges, UNIX_PEER]);
  }

  trusts(address: string): boolean {
    if (address === UNIX_PEER) return this.trustsUnix;
    if (this.ranges.length === 0) return false;
    const bytes = parseAddress(address);
    return bytes !== undefined && this.ranges.some((range) => isInRange(unmapped(bytes), range));
  }

  /**
   * The client address of a request. `peer` is the other end of the connection.
   *
   * Each proxy appends the address that it saw, so the client is the last entry that is not a trusted proxy. Most
   * proxies write one of the two headers and forward the other one as the client sent it. So if both are present and
   * name different clients, neither is used, and `peer` counts as the client.
   */
  clientOf(peer: string, { xForwardedFor, forwarded }: ForwardingHeaders): string {
    if (!this.trusts(peer)) return peer;
    const named =
      xForwardedFor === undefined ? undefined : this.lastUntrusted(hopsOf(xForwardedFor));
    const alsoNamed =
      forwarded === undefined ? undefined : this.lastUntrusted(forwardedHopsOf(forwarded));
    if (named !== undefined && alsoNamed !== undefined && named !== alsoNamed) return peer;
    return named ?? alsoNamed ?? peer;
  }

  /**
   * Whether the client of a request used TLS, as reported by a trusted proxy. Only the last entry counts, which that
   * proxy wrote: earlier ones may be the client's. If the two headers disagree, neither counts.
   */
  saysHttps(peer: string, { xForwardedProto, forwarded }: SchemeHeaders): boolean {
    if (!this.trusts(peer)) return false;
    const named = [xForwardedProto?.split(',').at(-1), forwardedProtoOf(forwarded)];
    const schemes = named.flatMap((scheme) => scheme?.trim().toLowerCase() ?? []);
    return schemes.length > 0 && schemes.every((scheme) => scheme === 'https');
  }

  /** `undefined` if all are trusted, or the last untrusted entry is no address (`unknown`, an obfuscated name). */
  private lastUntrusted(hops: readonly string[]): string | undefined {
    for (const hop of hops.slice(-HOPS_MAX).toReversed()) {
      const address = addressOfHop(hop);
      if (address === undefined) return undefined;
      if (!this.trusts(address)) return address;
    }
    return undefined;
  }
}

function hopsOf(header: string): readonly string[] {
  return header.split(',');
}

/** The values of `for` in a Forwarded header. */
function forwardedHopsOf(header: string): readonly string[] {
  return header
    .split(',')
    .map((hop) => /(?:^|;)\s*for\s*=\s*("[^"]*"|[^;\s]*)/i.exec(hop)?.[1] ?? '');
}

/** The value of `proto` in the last entry of a Forwarded header. */
function forwardedProtoOf(header: string | undefined): string | undefined {
  const [, quoted, plain] =
    /(?:^|;)\s*proto\s*=\s*(?:"([^"]*)"|([^;\s]*))/i.exec(header?.split(',').at(-1) ?? '') ?? [];
  return quoted ?? plain;
}

/** The address of one entry in canonical form, without quotes, brackets and port. */
function addressOfHop(hop: string): string | undefined {
  const text = hop.trim().replace(/^"(.*)"$/, '$1');
  const [, bracketed, ipv4] = /^\[([^\]]*)\](?::\d+)?$|^([\d.]+)(?::\d+)?$/.exec(text) ?? [];
  const bytes = parseAddress(bracketed ?? ipv4 ?? text);
  return bytes && addressText(unmapped(bytes));
}

import type { UnprocessedWhy } from '../request.ts';
import type { FindAddresses } from './addresses.ts';
import type { OpenWire, WireTarget } from './open-wire.ts';
import type { Wire, WireListener } from './wire.ts';

/** Why no connection was made. */
export interface ConnectFailure {
  readonly why: UnprocessedWhy;
  readonly detail: string;
}

export interface Http2ConnectorOptions {
  /** `https://host:port`, or `http://host:port` for HTTP/2 without TLS. */
  readonly origin: URL;
  /** Certificates to trust in place of the system's, as PEM. */
  readonly ca: string | undefined;
  /** For the lookup and all attempts together. */
  readonly timeoutMs: number;
  readonly findAddresses: FindAddresses;
  readonly openWire: OpenWire;
  readonly now: () => number;
}

/** Addresses that one attempt tries. */
const ADDRESSES_MAX = 4;

/** Connects to an origin. Each call begins with another of its addresses, so that connections are spread. */
export class Http2Connector {
  private readonly options: Http2ConnectorOptions;
  private readonly host: string;
  private readonly target: Omit<WireTarget, 'address' | 'timeoutMs' | 'proxy'>;
  private attempts = 0;

  constructor(options: Http2ConnectorOptions) {
    this.options = options;
    const { hostname, port, protocol } = options.origin;
    const isSecure = protocol === 'https:';
    this.host = hostname.replace(/^\[|\]$/g, '');
    this.target = {
      port: Number(port) || (isSecure ? 443 : 80),
      serverName: isSecure ? this.host : undefined,
      ca: options.ca,
    };
  }

  /** Returns `undefined` once `attach` has taken an open wire. Stops trying when `isWanted` returns `false`. */
  async connect(
    attach: (wire: Wire) => WireListener | undefined,
    isWanted: () => boolean,
  ): Promise<ConnectFailure | undefined> {
    const { now, timeoutMs, findAddresses, openWire } = this.options;
    const endsAtMs = now() + timeoutMs;
    const found = await findAddresses(this.host);
    if (!found.ok) {
      return { why: found.allowed ? 'unreachable' : 'not-allowed', detail: found.why };
    }
    let failure: ConnectFailure = { why: 'unreachable', detail: 'the name has no address' };
    for (const address of rotated(found.addresses, this.attempts++).slice(0, ADDRESSES_MAX)) {
      const leftMs = endsAtMs - now();
      if (leftMs <= 0 || !isWanted()) break;
      const opening = await openWire(
        // An address that does not answer leaves time for another.
        {
          ...this.target,
          address,
          timeoutMs: Math.min(leftMs, timeoutMs / 2),
          proxy: found.proxy,
        },
        attach,
      );
      if (opening.ok) return undefined;
      // "Speaks no HTTP/2" is more informative than that the next address is unreachable.
      if (failure.why === 'no-http2') continue;
      const why = opening.noHttp2 ? 'no-http2' : (opening.proxyReason ?? 'unreachable');
      failure = { why, detail: opening.why };
      // The proxy is the same for every address.
      if (why === 'proxy-unreachable') break;
    }
    return failure;
  }
}

/** Rotates the addresses by `by`, with all IPv4 addresses before the IPv6 ones. */
function rotated(addresses: readonly string[], by: number): readonly string[] {
  const rotate = (list: readonly string[]) => {
    const at = list.length === 0 ? 0 : by % list.length;
    return [...list.slice(at), ...list.slice(0, at)];
  };
  return [
    ...rotate(addresses.filter((address) => !address.includes(':'))),
    ...rotate(addresses.filter((address) => address.includes(':'))),
  ];
}

import { errorWord } from '../../runtime/error-code.ts';
import { isLoopback, parseAddress } from '../../runtime/ip-address.ts';
import type { NoProxy } from '../../runtime/proxy/no-proxy.ts';
import { hostAndPort, type ProxyAddress } from '../../runtime/proxy/proxy-address.ts';
import { proxyUnreachable } from './proxy-fault.ts';

export interface ForwardProxyOptions {
  readonly address: ProxyAddress;
  readonly noProxy: NoProxy;
  /** Tenants' and devices' names go to the proxy, which looks them up. */
  readonly passNames: boolean;
  /** Looks up the name of the proxy. Rejects with an error that has a `code`. */
  readonly lookUp: (host: string, signal: AbortSignal) => Promise<readonly string[]>;
}

/** Addresses of the proxy that one attempt tries. */
const ADDRESSES_MAX = 4;

/** The HTTP proxy that outgoing requests go through. */
export class ForwardProxy {
  /** Host and port, for people. */
  readonly name: string;
  readonly port: number;
  readonly passNames: boolean;
  /** Header fields that the proxy gets. */
  readonly fields: Readonly<Record<string, string>>;
  private readonly options: ForwardProxyOptions;

  constructor(options: ForwardProxyOptions) {
    const { host, port, authorization } = options.address;
    this.options = options;
    this.name = hostAndPort(host, port);
    this.port = port;
    this.passNames = options.passNames;
    this.fields = authorization === undefined ? {} : { 'Proxy-Authorization': authorization };
  }

  /** Whether requests to a host go through the proxy. The host is a name or an IP address without brackets. */
  serves(host: string): boolean {
    return !isThisMachine(host) && !isLinkLocal(host) && !this.options.noProxy.covers(host);
  }

  /** The proxy's own addresses, at least one. Throws `ProxyFault`, or the signal's reason. */
  async addresses(signal: AbortSignal): Promise<readonly string[]> {
    const { address, lookUp } = this.options;
    if (parseAddress(address.host) !== undefined) return [address.host];
    try {
      const found = await lookUp(address.host, signal);
      if (found.length > 0) return found.slice(0, ADDRESSES_MAX);
    } catch (error) {
      signal.throwIfAborted();
      throw proxyUnreachable(this.name, errorWord(error));
    }
    throw proxyUnreachable(this.name, 'the name has no address');
  }
}

/** The proxy would take it for itself. Source: RFC 6761, 6.3. */
function isThisMachine(host: string): boolean {
  return isLoopback(host) || /^(?:.*\.)?localhost\.?$/i.test(host);
}

/** Only machines on the same link have it, such as the metadata server of a cloud. Source: RFC 3927. */
function isLinkLocal(host: string): boolean {
  return parseAddress(host) !== undefined && /^(?:169\.254\.|fe[89ab][\da-f]:)/i.test(host);
}

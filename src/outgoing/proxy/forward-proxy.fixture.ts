import { NoProxy } from '../../runtime/proxy/no-proxy.ts';
import { ForwardProxy, type ForwardProxyOptions } from './forward-proxy.ts';

/** The proxy at this port on 127.0.0.1. */
export function proxyAt(port: number, more: Partial<ForwardProxyOptions> = {}): ForwardProxy {
  return new ForwardProxy({
    address: { host: '127.0.0.1', port, authorization: undefined },
    noProxy: new NoProxy([]),
    passNames: false,
    lookUp: () => Promise.reject(new Error('not asked')),
    ...more,
  });
}

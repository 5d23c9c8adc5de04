import type { Timers } from '../../runtime/ports.ts';
import { ProxyFault, proxyUnreachable } from './proxy-fault.ts';
import { openTunnel, type TunnelTarget } from './tunnel.ts';

/** When the proxy is asked, and how long it may take, as shares of the timeout of the request. */
const ASK_AFTER = 0.5;
const ASK_FOR = 0.4;

export interface ProxyWatch extends Disposable {
  /** The fault of a proxy that gave no answer. */
  readonly fault: () => ProxyFault | undefined;
}

/**
 * Watches the proxy of a request that `fetch` sends, which cannot say whether it waits for the proxy or for the server. If
 * half of the timeout is over, the proxy is asked for a tunnel to the same server.
 */
export function watchProxy(target: TunnelTarget, timers: Timers): ProxyWatch {
  const askMs = target.timeoutMs * ASK_FOR;
  let fault: ProxyFault | undefined;
  let askedAtMs: number | undefined;
  const ask = async () => {
    askedAtMs = timers.now();
    try {
      const { socket } = await openTunnel({ ...target, timeoutMs: askMs }, timers);
      socket.destroy();
    } catch (error) {
      // A proxy that refuses the tunnel has answered.
      if (error instanceof ProxyFault && error.reason === 'proxy-unreachable') fault = error;
    }
    askedAtMs = undefined;
  };
  // On a busy loop, the request may time out before the question does.
  const isSilent = () => askedAtMs !== undefined && timers.now() - askedAtMs >= askMs / 2;
  const stopTimer = timers.after(target.timeoutMs * ASK_AFTER, () => void ask());
  const silence = () => (isSilent() ? proxyUnreachable(target.proxy.name, 'timeout') : undefined);
  return { fault: () => fault ?? silence(), [Symbol.dispose]: stopTimer };
}

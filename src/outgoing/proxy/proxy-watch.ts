import type { Timers } from '../../runtime/ports.ts';
import { ProxyFault } from './proxy-fault.ts';
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
  let fault: ProxyFault | undefined;
  const ask = async () => {
    try {
      const timeoutMs = target.timeoutMs * ASK_FOR;
      const { socket } = await openTunnel({ ...target, timeoutMs }, timers);
      socket.destroy();
    } catch (error) {
      // A proxy that refuses the tunnel has answered.
      if (error instanceof ProxyFault && error.reason === 'proxy-unreachable') fault = error;
    }
  };
  const stopTimer = timers.after(target.timeoutMs * ASK_AFTER, () => void ask());
  return { fault: () => fault, [Symbol.dispose]: stopTimer };
}

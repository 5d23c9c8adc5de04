import { connect, type Socket } from 'node:net';
import { errorWord } from '../../runtime/error-code.ts';
import type { Timers } from '../../runtime/ports.ts';
import { hostAndPort } from '../../runtime/proxy/proxy-address.ts';
import { ConnectAnswerReader } from './connect-answer.ts';
import type { ForwardProxy } from './forward-proxy.ts';
import { ProxyFault, proxyBrokeHttp, proxyRefused, proxyUnreachable } from './proxy-fault.ts';

export interface TunnelTarget {
  readonly proxy: ForwardProxy;
  /** A name or an IP address, without brackets. */
  readonly host: string;
  readonly port: number;
  /** For the lookup, the connection and the answer together. */
  readonly timeoutMs: number;
}

/** An open tunnel. The caller owns the socket. */
export interface Tunnel {
  readonly socket: Socket;
  /** What the other end has sent already. */
  readonly early: Buffer;
}

/** Opens a tunnel through the proxy. Throws `ProxyFault`. Source: RFC 9110, 9.3.6. */
export async function openTunnel(target: TunnelTarget, timers: Timers): Promise<Tunnel> {
  const { proxy, timeoutMs } = target;
  const endsAtMs = timers.now() + timeoutMs;
  const giveUp = new AbortController();
  const stopTimer = timers.after(timeoutMs, () =>
    giveUp.abort(proxyUnreachable(proxy.name, 'timeout')),
  );
  try {
    let fault = proxyUnreachable(proxy.name, 'timeout');
    const addresses = await proxy.addresses(giveUp.signal);
    for (const [index, address] of addresses.entries()) {
      const leftMs = endsAtMs - timers.now();
      if (leftMs <= 0) break;
      // An address that does not answer leaves time for another.
      const timeoutMs = index < addresses.length - 1 ? leftMs / 2 : leftMs;
      try {
        return await connectOver(address, { ...target, timeoutMs }, timers);
      } catch (error) {
        // Whichever address has answered, the others are the same proxy.
        if (!(error instanceof ProxyFault) || error.reason !== 'proxy-unreachable') throw error;
        fault = error;
      }
    }
    throw fault;
  } finally {
    stopTimer();
  }
}

function connectOver(
  address: string,
  { proxy, host, port, timeoutMs }: TunnelTarget,
  timers: Timers,
): Promise<Tunnel> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: address, port: proxy.port });
    const reader = new ConnectAnswerReader();
    const giveUp = (fault: ProxyFault) => {
      stopTimer();
      socket.destroy();
      reject(fault);
    };
    const stopTimer = timers.after(timeoutMs, () =>
      giveUp(proxyUnreachable(proxy.name, 'timeout')),
    );
    const onError = (error: unknown) => giveUp(proxyUnreachable(proxy.name, errorWord(error)));
    const onClose = () => giveUp(proxyUnreachable(proxy.name, 'closed'));
    const onData = (bytes: Buffer) => {
      const answer = reader.push(bytes);
      if (answer === 'incomplete') return;
      if (answer === 'too-large') {
        return giveUp(proxyBrokeHttp(proxy.name, 'sent a head that is too large'));
      }
      if (answer === 'not-http') {
        return giveUp(proxyBrokeHttp(proxy.name, 'did not answer in HTTP/1.1'));
      }
      const { status, rest } = answer;
      if (status < 200 || status > 299) return giveUp(proxyRefused(proxy.name, status));
      stopTimer();
      socket.pause();
      socket.off('data', onData).off('close', onClose).off('error', onError);
      // Until the caller listens.
      socket.on('error', () => socket.destroy());
      resolve({ socket, early: Buffer.from(rest) });
    };
    socket.on('error', onError).on('close', onClose).on('data', onData);
    socket.once('connect', () => void socket.write(connectHead(hostAndPort(host, port), proxy)));
  });
}

function connectHead(authority: string, { fields }: ForwardProxy): string {
  const lines = Object.entries({ Host: authority, ...fields }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  return `CONNECT ${authority} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

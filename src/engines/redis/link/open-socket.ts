import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { certificateRefusal } from '../../../runtime/certificate-refusal.ts';
import { messageOf } from '../../../runtime/error-code.ts';
import type { Timers } from '../../../runtime/ports.ts';
import type { Endpoint } from './address.ts';
import { RedisAway, RedisRefused } from './reply.ts';

/** The TLS options; all in PEM. */
export interface TlsOptions {
  /** The certificates to trust instead of the system's. */
  readonly ca?: string | undefined;
  /** This client's certificate and its key, if Redis asks for one. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

export interface SocketOptions {
  /** `undefined`: no TLS. */
  readonly tls: TlsOptions | undefined;
  readonly timeoutMs: number;
  readonly timers: Timers;
}

/** The interval of TCP keep-alive probes. */
const KEEP_ALIVE_MS = 15_000;

/** Opens a socket. Rejects with `RedisAway`, or with `RedisRefused` for a certificate that is not accepted. */
export function openSocket(endpoint: Endpoint, options: SocketOptions): Promise<Socket> {
  const { tls, timeoutMs, timers } = options;
  const { host, port } = endpoint;
  return new Promise((resolve, reject) => {
    const socket: Socket =
      tls === undefined
        ? connectTcp({ host, port })
        : connectTls({
            host,
            port,
            // SNI does not allow addresses (RFC 6066, 3).
            ...(isIP(host) === 0 ? { servername: host } : {}),
            minVersion: 'TLSv1.2',
            ...definedOf(tls),
          });
    const giveUp = (why: string) => {
      stopTimer();
      socket.destroy();
      reject(new RedisAway(`cannot connect to ${host}:${port}: ${why}`, false));
    };
    const stopTimer = timers.after(timeoutMs, () => giveUp(`no answer within ${timeoutMs} ms`));
    const onError = (error: Error) => {
      const refusal = certificateRefusal(error, `${host}:${port}`);
      if (refusal === undefined) return giveUp(messageOf(error));
      stopTimer();
      socket.destroy();
      reject(new RedisRefused(refusal));
    };
    const onClose = () => giveUp('closed');
    socket.once('error', onError);
    socket.once('close', onClose);
    socket.once(tls === undefined ? 'connect' : 'secureConnect', () => {
      stopTimer();
      socket.off('error', onError);
      socket.off('close', onClose);
      socket.setNoDelay(true);
      socket.setKeepAlive(true, KEEP_ALIVE_MS);
      resolve(socket);
    });
  });
}

/** Drops the fields that are `undefined`. */
function definedOf(tls: TlsOptions): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(tls).filter(([, pem]) => pem !== undefined));
}

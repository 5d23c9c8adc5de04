import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { messageOf } from '../../../runtime/error-code.ts';
import type { Timers } from '../../../runtime/ports.ts';
import type { ClientTls } from '../../../runtime/tls/certificate.ts';
import { tlsRefusal } from '../../../runtime/tls/certificate-refusal.ts';
import { type Party, placeOf, tlsPeerOf } from './party.ts';
import { RedisAway, RedisRefused } from './reply.ts';

export interface SocketOptions {
  /** `undefined`: no TLS. */
  readonly tls: ClientTls | undefined;
  readonly timeoutMs: number;
  readonly timers: Timers;
}

/** The interval of TCP keep-alive probes. */
const KEEP_ALIVE_MS = 15_000;

/** Opens a socket. Rejects with `RedisAway`, or with `RedisRefused` if a certificate is missing or not accepted. */
export function openSocket(party: Party, options: SocketOptions): Promise<Socket> {
  const { tls, timeoutMs, timers } = options;
  const { host, port } = party.endpoint;
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
            ...(tls.ca === undefined ? {} : { ca: tls.ca }),
            ...tls.certificate,
          });
    let isConnected = false;
    const giveUp = (why: string) => {
      stopTimer();
      socket.destroy();
      // A Redis without TLS takes the handshake for the start of a command, and waits for the rest.
      const hint =
        isConnected && tls !== undefined
          ? '. The port is open: if it does not speak TLS, the address must begin with redis, not rediss'
          : '';
      reject(new RedisAway(`cannot connect to ${placeOf(party)}: ${why}${hint}`, false));
    };
    const stopTimer = timers.after(timeoutMs, () => giveUp(`no answer within ${timeoutMs} ms`));
    const onError = (error: Error) => {
      const refusal = tlsRefusal(error, tlsPeerOf(party));
      if (refusal === undefined) return giveUp(messageOf(error));
      stopTimer();
      socket.destroy();
      reject(new RedisRefused(refusal));
    };
    const onClose = () => giveUp('closed');
    socket.once('error', onError);
    socket.once('close', onClose);
    socket.once('connect', () => {
      isConnected = true;
    });
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

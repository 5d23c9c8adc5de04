import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { errorWord } from '../../../runtime/error-code.ts';
import type { Timers } from '../../../runtime/ports.ts';
import type { Wire, WireListener } from './wire.ts';

/** What to connect to. */
export interface WireTarget {
  /** An IP address: nothing is looked up. */
  readonly address: string;
  readonly port: number;
  /** The name or address that the certificate must be for; `undefined`: no TLS. */
  readonly serverName: string | undefined;
  /** Certificates to trust in place of the system's, as PEM. */
  readonly ca: string | undefined;
  readonly timeoutMs: number;
}

/** The result of opening a wire. `why` is a code or a few words. */
export type WireOpening =
  | { readonly ok: true }
  | { readonly ok: false; readonly why: string; readonly noHttp2: boolean };

/**
 * Opens a wire and hands it to `attach` the moment it is open, so that no byte is missed. It is closed again if
 * `attach` returns no listener.
 */
export type OpenWire = (
  target: WireTarget,
  attach: (wire: Wire) => WireListener | undefined,
) => Promise<WireOpening>;

/** The time for a closing connection to send its last bytes. */
const END_MS_MAX = 5_000;

const PROTOCOL = 'h2';

const NO_HTTP2 = 'the peer speaks no HTTP/2';

/** The TLS alert of a server that speaks none of the offered protocols. */
const NO_PROTOCOL = /NO_APPLICATION_PROTOCOL/i;

/** Makes the function that opens wires over the network. */
export function createOpenWire(timers: Timers): OpenWire {
  return (target, attach) =>
    new Promise((resolve) => {
      const { address, port, serverName, ca } = target;
      const secure = serverName !== undefined;
      const socket: Socket | TLSSocket = secure
        ? connectTls({
            host: address,
            port,
            // SNI does not allow addresses (RFC 6066, 3).
            ...(isIP(serverName) === 0 ? { servername: serverName } : {}),
            ALPNProtocols: [PROTOCOL],
            minVersion: 'TLSv1.2',
            ...(ca === undefined ? {} : { ca }),
          })
        : connectTcp({ host: address, port });
      let failure = 'closed';
      let listener: WireListener | undefined;

      const giveUp = (why: string) => {
        stopTimer();
        socket.destroy();
        resolve({ ok: false, why, noHttp2: why === NO_HTTP2 || NO_PROTOCOL.test(why) });
      };
      const stopTimer = timers.after(target.timeoutMs, () => giveUp('timeout'));

      socket.on('error', (error) => {
        failure = errorWord(error);
        if (listener === undefined) giveUp(failure);
      });
      socket.on('close', () => {
        if (listener === undefined) giveUp(failure);
        else listener.onClose(failure);
      });
      socket.once(secure ? 'secureConnect' : 'connect', () => {
        stopTimer();
        if (secure && protocolOf(socket) !== PROTOCOL) return giveUp(NO_HTTP2);
        socket.setNoDelay(true);
        const attached = attach(wireOf(socket, timers));
        if (attached === undefined) return giveUp('not needed any more');
        listener = attached;
        socket.on('data', (bytes: Buffer) => attached.onBytes(bytes));
        socket.on('drain', () => attached.onDrain());
        resolve({ ok: true });
      });
    });
}

function wireOf(socket: Socket, timers: Timers): Wire {
  return {
    write: (bytes) => socket.write(bytes),
    end() {
      socket.end();
      const stopTimer = timers.after(END_MS_MAX, () => socket.destroy());
      socket.once('close', stopTimer);
    },
    destroy: () => void socket.destroy(),
  };
}

function protocolOf(socket: Socket): unknown {
  return 'alpnProtocol' in socket ? socket.alpnProtocol : undefined;
}

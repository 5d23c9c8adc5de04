import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { errorWord } from '../../../runtime/error-code.ts';
import type { Timers } from '../../../runtime/ports.ts';
import type { ForwardProxy } from '../../proxy/forward-proxy.ts';
import { ProxyFault, type ProxyReason } from '../../proxy/proxy-fault.ts';
import { openTunnel, type Tunnel } from '../../proxy/tunnel.ts';
import type { Wire, WireListener } from './wire.ts';

/** What to connect to. */
export interface WireTarget {
  /** An IP address: nothing is looked up. Through a proxy, it may be a name. */
  readonly address: string;
  readonly port: number;
  /** The name or address that the certificate must be for; `undefined`: no TLS. */
  readonly serverName: string | undefined;
  /** Certificates to trust in place of the system's, as PEM. */
  readonly ca: string | undefined;
  readonly timeoutMs: number;
  /** Connect through a tunnel of this proxy. */
  readonly proxy?: ForwardProxy | undefined;
}

/** The result of opening a wire. `why` is a code or a few words. */
export type WireOpening =
  | { readonly ok: true }
  | {
      readonly ok: false;
      readonly why: string;
      readonly noHttp2: boolean;
      /** Set if the proxy is the cause. */
      readonly proxyReason?: ProxyReason;
    };

type Attach = (wire: Wire) => WireListener | undefined;

/**
 * Opens a wire and hands it to `attach` the moment it is open, so that no byte is missed. It is closed again if
 * `attach` returns no listener.
 */
export type OpenWire = (target: WireTarget, attach: Attach) => Promise<WireOpening>;

/** The time for a closing connection to send its last bytes. */
const END_MS_MAX = 5_000;

const PROTOCOL = 'h2';

const NO_HTTP2 = 'the peer speaks no HTTP/2';

/** The TLS alert of a server that speaks none of the offered protocols. */
const NO_PROTOCOL = /NO_APPLICATION_PROTOCOL/i;

/** Makes the function that opens wires over the network. */
export function createOpenWire(timers: Timers): OpenWire {
  return (target, attach) =>
    target.proxy === undefined
      ? openOver({ host: target.address, port: target.port }, { target, attach, timers })
      : openThrough(target.proxy, { target, attach, timers });
}

interface Opening {
  readonly target: WireTarget;
  readonly attach: Attach;
  readonly timers: Timers;
}

async function openThrough(
  proxy: ForwardProxy,
  { target, attach, timers }: Opening,
): Promise<WireOpening> {
  const { address: host, port, timeoutMs } = target;
  const endsAtMs = timers.now() + timeoutMs;
  let tunnel: Tunnel;
  try {
    tunnel = await openTunnel({ proxy, host, port, timeoutMs }, timers);
  } catch (error) {
    const proxyReason = error instanceof ProxyFault ? error.reason : 'proxy-unreachable';
    return { ok: false, why: errorWord(error), noHttp2: false, proxyReason };
  }
  const left = { ...target, timeoutMs: endsAtMs - timers.now() };
  return openOver(tunnel, { target: left, attach, timers });
}

/** Where the bytes go: to an address, or into a tunnel. */
type Way = { readonly host: string; readonly port: number } | Tunnel;

function openOver(way: Way, { target, attach, timers }: Opening): Promise<WireOpening> {
  return new Promise((resolve) => {
    const secure = target.serverName !== undefined;
    const early = 'early' in way ? way.early : Buffer.alloc(0);
    const socket = secure ? connectSecurely(way, target) : connectPlainly(way);
    let failure = 'closed';
    let listener: WireListener | undefined;

    const giveUp = (why: string) => {
      stopTimer();
      socket.destroy();
      if ('socket' in way) way.socket.destroy();
      resolve({ ok: false, why, noHttp2: why === NO_HTTP2 || NO_PROTOCOL.test(why) });
    };
    const stopTimer = timers.after(target.timeoutMs, () => giveUp('timeout'));
    const onOpen = () => {
      stopTimer();
      if (secure && protocolOf(socket) !== PROTOCOL) return giveUp(NO_HTTP2);
      socket.setNoDelay(true);
      const attached = attach(wireOf(socket, timers));
      if (attached === undefined) return giveUp('not needed any more');
      listener = attached;
      socket.on('data', (bytes: Buffer) => attached.onBytes(bytes));
      socket.on('drain', () => attached.onDrain());
      if (early.length > 0) attached.onBytes(early);
      // A tunnel is handed over while it is paused.
      socket.resume();
      resolve({ ok: true });
    };

    socket.on('error', (error) => {
      failure = errorWord(error);
      if (listener === undefined) giveUp(failure);
    });
    socket.on('close', () => {
      if (listener === undefined) giveUp(failure);
      else listener.onClose(failure);
    });
    // No server speaks before TLS has begun.
    if (secure && early.length > 0) giveUp('bytes before TLS');
    else if (secure) socket.once('secureConnect', onOpen);
    else if ('socket' in way) onOpen();
    else socket.once('connect', onOpen);
  });
}

function connectSecurely(way: Way, { serverName = '', ca }: WireTarget): TLSSocket {
  return connectTls({
    ...('socket' in way ? { socket: way.socket } : way),
    // SNI does not allow addresses (RFC 6066, 3).
    ...(isIP(serverName) === 0 ? { servername: serverName } : {}),
    ALPNProtocols: [PROTOCOL],
    minVersion: 'TLSv1.2',
    ...(ca === undefined ? {} : { ca }),
  });
}

function connectPlainly(way: Way): Socket {
  return 'socket' in way ? way.socket : connectTcp(way);
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

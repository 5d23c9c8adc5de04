import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls, type PeerCertificate, rootCertificates } from 'node:tls';
import { monotonicTimers } from '../../runtime/system-timers.ts';
import type { TargetAddress } from '../target.ts';
import { Bell } from './bell.ts';

/** Bytes that may wait unread on one link; a server that sends more is cut off. */
const UNREAD_BYTES_MAX = 4 * 1024 * 1024;

/** Where a link goes: an endpoint, at one of its addresses. */
export interface Destination {
  readonly endpoint: TargetAddress;
  readonly address: string;
  /** The certificate authorities to trust in addition to the well-known ones, in PEM. */
  readonly ca: string | undefined;
}

/** What a server showed of itself in the TLS handshake. */
export interface Presented {
  readonly certificate: PeerCertificate;
  /** OpenSSL's code for why the chain is not trusted, or `undefined` if it is. */
  readonly distrust: string | undefined;
  readonly protocol: string | null;
}

export type OpenedLink =
  | { readonly ok: true; readonly link: Link }
  | { readonly ok: false; readonly code: string };

/** Why no more bytes come. */
export type Silence = 'timeout' | 'closed' | 'reset';

/**
 * One TCP or TLS connection, read as far as is needed. Certificates are judged by their own check:
 * a link is made to any of them.
 */
export class Link implements Disposable {
  private unread: Buffer = Buffer.alloc(0);
  private over: 'closed' | 'reset' | undefined;
  private readonly bell = new Bell();
  private readonly socket: Socket;
  readonly presented: Presented | undefined;

  private constructor(socket: Socket, presented: Presented | undefined) {
    this.socket = socket;
    this.presented = presented;
    socket.on('data', (bytes: Buffer) => {
      this.unread = Buffer.concat([this.unread, bytes]);
      if (this.unread.length > UNREAD_BYTES_MAX) socket.destroy();
      this.bell.ring();
    });
    const end = (how: 'closed' | 'reset') => {
      this.over ??= how;
      this.bell.ring();
    };
    socket.on('error', () => end('reset'));
    socket.on('end', () => end('closed'));
    socket.on('close', () => end('closed'));
  }

  /** Opens a link, or gives the system's name of why not: `ECONNREFUSED`, `TIMEOUT`, … */
  static async open(to: Destination, layer: 'tcp' | 'all', timeoutMs: number): Promise<OpenedLink> {
    const { promise, resolve } = Promise.withResolvers<OpenedLink>();
    const { endpoint, address: host, ca } = to;
    const { port } = endpoint;
    const secure = endpoint.tls && layer === 'all';
    const tlsSocket = secure
      ? connectTls({
          host,
          port,
          // A server name must be a name. Source: RFC 6066, §3.
          ...(isIP(endpoint.hostname) === 0 ? { servername: endpoint.hostname } : {}),
          rejectUnauthorized: false,
          ALPNProtocols: ['http/1.1'],
          ...(ca === undefined ? {} : { ca: [...rootCertificates, ca] }),
        })
      : undefined;
    const socket = tlsSocket ?? connect({ host, port });
    const cancel = monotonicTimers.after(timeoutMs, () => resolve({ ok: false, code: 'TIMEOUT' }));
    const fail = (error: NodeJS.ErrnoException) => {
      resolve({ ok: false, code: error.code ?? error.message });
    };
    socket.once('error', fail);
    socket.once('close', () => resolve({ ok: false, code: 'ECONNRESET' }));
    socket.once(secure ? 'secureConnect' : 'connect', () => {
      const presented =
        tlsSocket === undefined
          ? undefined
          : {
              certificate: tlsSocket.getPeerCertificate(),
              distrust: tlsSocket.authorized ? undefined : String(tlsSocket.authorizationError),
              protocol: tlsSocket.getProtocol(),
            };
      resolve({ ok: true, link: new Link(socket, presented) });
    });
    const opened = await promise;
    cancel();
    if (!opened.ok) {
      // A late error of a connection that was given up must not end the process.
      socket.on('error', () => undefined);
      socket.destroy();
    }
    return opened;
  }

  write(bytes: string | Uint8Array): void {
    if (this.over === undefined) this.socket.write(bytes);
  }

  /** The bytes that have arrived and are unread. */
  get waiting(): Buffer {
    return this.unread;
  }

  /** Consumes bytes that have arrived. */
  take(bytes: number): Buffer {
    const taken = this.unread.subarray(0, bytes);
    this.unread = this.unread.subarray(bytes);
    return taken;
  }

  /** Waits until `enough` accepts the bytes that have arrived, or returns why no more come. */
  async has(enough: (unread: Buffer) => boolean, deadlineMs: number): Promise<true | Silence> {
    for (;;) {
      if (enough(this.unread)) return true;
      if (this.over !== undefined) return this.over;
      if (performance.now() >= deadlineMs) return 'timeout';
      await this.bell.heardBefore(deadlineMs);
    }
  }

  [Symbol.dispose](): void {
    this.over ??= 'closed';
    this.socket.destroy();
    this.bell.ring();
  }
}

import type { Socket, SocketListener } from 'bun';
import { socketPath } from '../../../runtime/listen-host.ts';
import { monotonicTimers } from '../../../runtime/system-timers.ts';
import { every } from '../../../runtime/time/every.ts';
import { type Certificate, CIPHER_SUITES } from '../../../runtime/tls/certificate.ts';
import { openToGroup } from '../../socket-file.ts';
import type { PushBounds } from '../bounds.ts';
import {
  PushConnection,
  type PushConnectionOwner,
  type RequestOfConnection,
} from './connection.ts';
import { ConnectionShare } from './connection-share.ts';
import type { HttpFault, RequestHead } from './http/request-head.ts';
import { AddressTurns } from './http/turns.ts';

export interface ListenSettings {
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  readonly tls: Certificate | undefined;
}

/** What the owner of a server handles. */
export interface HttpServerEvents {
  /** A request begins. Its body may follow. */
  onRequest(head: RequestHead, connection: PushConnection): RequestOfConnection;
  /** What has arrived is no request, or not complete in time. `start` are its first bytes. */
  onFault(fault: HttpFault | 'timeout', connection: PushConnection, start: Buffer): void;
  /** A client has sent too much before the answer to its last request. */
  onAdvance(connection: PushConnection): void;
  /** Whether the address may open another connection now. */
  mayConnect(newcomer: PushConnection): boolean;
  /** This connection was closed because the limit of connections was reached and its address had the most. */
  onEvicted(closed: PushConnection): void;
}

/**
 * A server of HTTP/1 over the sockets of the runtime. Unlike those of the runtime, it reads the requests of a connection one after
 * the other: what a client sends in advance costs no more than its bytes, and waits its turn behind other connections.
 */
export class HttpServer implements PushConnectionOwner {
  /** Whether each connection closes with its next answer. */
  isClosing = false;
  readonly bounds: PushBounds;
  /** 0: it listens on a Unix socket. */
  readonly port: number;
  readonly host: string;
  private readonly listener: SocketListener<PushConnection>;
  private readonly events: HttpServerEvents;
  private readonly share: ConnectionShare;
  private readonly connections = new Set<PushConnection>();
  private readonly turns = new AddressTurns();
  private readonly stopChecks: () => void;
  private checkedAtMs = performance.now();
  private isClosed = false;
  private readonly empty = Promise.withResolvers<void>();

  /** Opens a port. Throws the error of the runtime if it cannot, such as `EADDRINUSE`. */
  constructor({ host, port, tls }: ListenSettings, bounds: PushBounds, events: HttpServerEvents) {
    this.bounds = bounds;
    this.events = events;
    this.share = new ConnectionShare(bounds.connections);
    const hasTls = tls !== undefined;
    this.host = host;
    const options = {
      // A client may end its side and still read its answers.
      allowHalfOpen: true,
      ...(hasTls ? { tls: { ...tls, ciphers: CIPHER_SUITES } } : {}),
      socket: {
        open: (socket: Socket<PushConnection>) => this.accept(socket, !hasTls),
        handshake: ({ data }: Socket<PushConnection>, isEstablished: boolean) => {
          data.isEstablished = isEstablished;
        },
        data: ({ data }: Socket<PushConnection>, bytes: Buffer) => data.received(bytes),
        drain: ({ data }: Socket<PushConnection>) => data.drained(),
        end: ({ data }: Socket<PushConnection>) => data.ended(),
        close: ({ data }: Socket<PushConnection>) => this.closed(data),
        error: ({ data }: Socket<PushConnection>) => data.destroy(),
      },
    };
    const path = socketPath(host);
    if (path === undefined) {
      const listener = Bun.listen<PushConnection>({ hostname: host, port, ...options });
      this.listener = listener;
      this.port = listener.port;
    } else {
      this.listener = Bun.listen<PushConnection>({ unix: path, ...options });
      this.port = 0;
      openToGroup(host);
    }
    this.stopChecks = every(monotonicTimers, bounds.checkMs, () => this.checkTimes());
  }

  /** The number of open connections, also of those whose TLS handshake is not done. */
  get connectionCount(): number {
    return this.connections.size;
  }

  /**
   * Frees the port and accepts no more connections. Idle connections are closed at once, the others after their next
   * answer. Settles when none is left, however long that takes: see `end`.
   */
  close(): Promise<void> {
    this.isClosing = true;
    if (!this.isClosed) {
      this.isClosed = true;
      this.listener.stop();
      for (const connection of this.connections) if (connection.isIdle) connection.destroy();
      this.settleIfEmpty();
    }
    return this.empty.promise;
  }

  /** Ends all remaining connections. */
  end(): void {
    for (const connection of this.connections) connection.destroy();
  }

  workChanged(connection: PushConnection): void {
    this.share.workChanged(connection);
  }

  mayBegin(connection: PushConnection): boolean {
    return this.turns.take(connection.peer.addressKey, connection);
  }

  onRequest(head: RequestHead, connection: PushConnection): RequestOfConnection {
    return this.events.onRequest(head, connection);
  }

  onFault(fault: HttpFault | 'timeout', connection: PushConnection, start: Buffer): void {
    this.events.onFault(fault, connection, start);
  }

  onAdvance(connection: PushConnection): void {
    this.events.onAdvance(connection);
  }

  /** Makes room for a new connection and accepts it. */
  private accept(socket: Socket<PushConnection>, isEstablished: boolean): void {
    const newcomer = new PushConnection(socket, this, isEstablished);
    socket.data = newcomer;
    if (!this.events.mayConnect(newcomer)) {
      newcomer.destroy();
      return;
    }
    for (;;) {
      const closed = this.share.connectionToClose(newcomer);
      if (closed === undefined) break;
      this.share.remove(closed);
      closed.destroy();
      this.events.onEvicted(closed);
      if (closed === newcomer) return;
    }
    this.share.add(newcomer);
    this.connections.add(newcomer);
  }

  private closed(connection: PushConnection): void {
    connection.closed();
    this.turns.leave(connection.peer.addressKey, connection);
    this.share.remove(connection);
    this.connections.delete(connection);
    this.settleIfEmpty();
  }

  private checkTimes(): void {
    const nowMs = performance.now();
    const wasBlocked = nowMs - this.checkedAtMs > 2 * this.bounds.checkMs;
    this.checkedAtMs = nowMs;
    // What has arrived while the loop was blocked is read first.
    if (wasBlocked) return;
    for (const connection of this.connections) connection.checkTime(nowMs);
  }

  private settleIfEmpty(): void {
    if (!this.isClosed || this.connections.size > 0) return;
    this.stopChecks();
    this.empty.resolve();
  }
}

import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Duplex } from 'node:stream';
import { type Certificate, CIPHER_SUITES } from '../../../runtime/certificate.ts';
import { openPort } from '../../node-http.ts';
import { HEAD_BYTES_MAX, type PushBounds } from '../bounds.ts';
import { Connection, type ConnectionOwner } from './connection.ts';
import { ConnectionShare } from './connection-share.ts';

export interface ListenSettings {
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  readonly tls: Certificate | undefined;
}

/** A request as it arrived, with all that is needed to answer it. */
export interface IncomingRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly connection: Connection;
  /** Whether the client sends the body only after `100 Continue`. */
  readonly expectsContinue: boolean;
}

/** What the owner of a server handles. */
export interface HttpServerEvents {
  onRequest(incoming: IncomingRequest): void;
  /** A request cannot be parsed or is too slow, or the connection broke. */
  onError(error: ConnectionError, connection: Connection): void;
  /** A CONNECT request, which would take over the connection. */
  onTunnel(connection: Connection): void;
  /** Whether the address may open another connection now. */
  mayConnect(newcomer: Connection): boolean;
  /** This connection was closed because the limit of connections was reached and its address had the most. */
  onEvicted(closed: Connection): void;
}

/** The runtime's own limit, as a multiple of ours: it also counts connections that are still in their TLS handshake. */
export const RUNTIME_LIMIT_FACTOR = 2;

/** `rawPacket` is what the parser read last. */
export interface ConnectionError extends Error {
  readonly code?: string;
  readonly rawPacket?: Uint8Array;
}

/** A server of `node:http`: unlike `Bun.serve`, it lets us answer parser errors and requests that time out. */
export class HttpServer implements ConnectionOwner {
  /** Whether each connection closes with its next answer. */
  isClosing = false;
  port = 0;
  private readonly server: Server;
  private readonly events: HttpServerEvents;
  private readonly share: ConnectionShare;
  private readonly connections = new Map<Duplex, Connection>();
  private isClosed = false;
  private readonly empty = Promise.withResolvers<void>();

  private constructor(tls: Certificate | undefined, bounds: PushBounds, events: HttpServerEvents) {
    const options: ServerOptions = {
      headersTimeout: bounds.headMs,
      requestTimeout: bounds.requestMs,
      keepAliveTimeout: bounds.idleMs,
      connectionsCheckingInterval: bounds.checkMs,
      maxHeaderSize: HEAD_BYTES_MAX,
      // Checked by us: Node.js would refuse without a body.
      requireHostHeader: false,
    };
    const server =
      tls === undefined
        ? createServer(options)
        : createTlsServer({ ...options, ...tls, ciphers: CIPHER_SUITES });
    // Only the runtime sees connections with an unfinished TLS handshake. It closes them after 12 s.
    server.maxConnections = RUNTIME_LIMIT_FACTOR * bounds.connections;
    const onRequest =
      (expectsContinue: boolean) => (request: IncomingMessage, response: ServerResponse) => {
        const connection = this.connectionOf(request.socket);
        events.onRequest({ request, response, connection, expectsContinue });
      };
    server.on('connection', (socket) => this.accept(socket));
    server.on('request', onRequest(false));
    server.on('checkContinue', onRequest(true));
    // Other expectations are ignored. So are upgrades, for which there is no listener.
    server.on('checkExpectation', onRequest(false));
    server.on('connect', (_, socket) => events.onTunnel(this.connectionOf(socket)));
    server.on('clientError', (error, socket) => events.onError(error, this.connectionOf(socket)));
    this.server = server;
    this.events = events;
    this.share = new ConnectionShare(bounds.connections);
  }

  /** Opens a port. Rejects with the error of Node.js if it cannot. */
  static async open(
    { host, port, tls }: ListenSettings,
    bounds: PushBounds,
    events: HttpServerEvents,
  ): Promise<HttpServer> {
    const opened = new HttpServer(tls, bounds, events);
    opened.port = await openPort(opened.server, port, host);
    return opened;
  }

  /** The number of connections that have finished their TLS handshake. */
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
      this.server.close();
      // Node.js itself closes connections that are idle between two requests.
      for (const connection of this.connections.values()) {
        if (!connection.isUsed) connection.destroy();
      }
      this.settleIfEmpty();
    }
    return this.empty.promise;
  }

  /** Ends all remaining connections. */
  end(): void {
    for (const connection of this.connections.values()) connection.destroy();
  }

  workChanged(connection: Connection): void {
    this.share.workChanged(connection);
  }

  /** Makes room for a new connection and accepts it. */
  private accept(socket: Duplex): void {
    const newcomer = new Connection(socket, this);
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
    if (socket.destroyed) return;
    this.share.add(newcomer);
    this.connections.set(socket, newcomer);
    socket.once('close', () => {
      this.share.remove(newcomer);
      this.connections.delete(socket);
      this.settleIfEmpty();
    });
  }

  /** A connection that has closed already is no longer in the map. */
  private connectionOf(socket: Duplex): Connection {
    return this.connections.get(socket) ?? new Connection(socket, this);
  }

  private settleIfEmpty(): void {
    if (this.isClosed && this.connections.size === 0) this.empty.resolve();
  }
}

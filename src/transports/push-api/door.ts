import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Duplex } from 'node:stream';
import type { Certificate } from '../../runtime/certificate.ts';
import { HEAD_BYTES_MAX, type PushBounds } from './bounds.ts';
import { Connection, type ConnectionOwner } from './connection.ts';
import { ConnectionShare } from './connection-share.ts';

export interface DoorSettings {
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  readonly tls: Certificate | undefined;
}

/** What a door tells of. */
export interface DoorEvents {
  /** `asksFirst`: the sender waits to be told that it may send the body. */
  request(
    request: IncomingMessage,
    response: ServerResponse,
    connection: Connection,
    asksFirst: boolean,
  ): void;
  /** What comes cannot be read, or does not come in time, or the connection broke. */
  fault(error: ConnectionFault, connection: Connection): void;
  /** A request for a tunnel, which takes the whole connection. */
  tunnel(connection: Connection): void;
  /** Whether the address may connect so often. */
  mayConnect(newcomer: Connection): boolean;
  /** There are as many connections as there may be, and one was closed: one of the address that has most. */
  crowdedOut(closed: Connection): void;
}

/**
 * Connections that the system may hold with TLS, for each one that may be used: room for those that are not ready yet.
 */
export const UNSEEN_FACTOR = 2;

/** `rawPacket` is what the parser was given last. */
export interface ConnectionFault extends Error {
  readonly code?: string;
  readonly rawPacket?: Uint8Array;
}

/**
 * One server of `node:http`. It is used for what `Bun.serve` keeps to itself: faults of the parser can be
 * answered, and requests that are not finished in time.
 */
export class Door implements ConnectionOwner {
  /** Whether connections end with their next answer. */
  closing = false;
  private readonly server: Server;
  private readonly events: DoorEvents;
  private readonly share: ConnectionShare;
  private readonly connections = new Map<Duplex, Connection>();
  private readonly empty = Promise.withResolvers<void>();

  private constructor(tls: Certificate | undefined, bounds: PushBounds, events: DoorEvents) {
    const options: ServerOptions = {
      headersTimeout: bounds.headMs,
      requestTimeout: bounds.requestMs,
      keepAliveTimeout: bounds.idleMs,
      connectionsCheckingInterval: bounds.checkMs,
      maxHeaderSize: HEAD_BYTES_MAX,
      // Checked by us: Node.js refuses without a body.
      requireHostHeader: false,
    };
    const server =
      tls === undefined ? createServer(options) : createTlsServer({ ...options, ...tls });
    // Those that have not finished their TLS handshake are known to nobody else. The runtime ends them after 12 s.
    server.maxConnections = UNSEEN_FACTOR * bounds.connections;
    const request = (asksFirst: boolean) => (asked: IncomingMessage, response: ServerResponse) =>
      events.request(asked, response, this.connectionOf(asked.socket), asksFirst);
    server.on('connection', (socket) => this.take(socket));
    server.on('request', request(false));
    server.on('checkContinue', request(true));
    // Other expectations need not be met. Upgrades are not listened for: they are answered as if not asked for.
    server.on('checkExpectation', request(false));
    server.on('connect', (_, socket) => events.tunnel(this.connectionOf(socket)));
    server.on('clientError', (error, socket) => events.fault(error, this.connectionOf(socket)));
    this.server = server;
    this.events = events;
    this.share = new ConnectionShare(bounds.connections);
  }

  /** Opens a port. Fails with what Node.js gives. */
  static async open(
    { host, port, tls }: DoorSettings,
    bounds: PushBounds,
    events: DoorEvents,
  ): Promise<Door> {
    const door = new Door(tls, bounds, events);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    door.server.once('error', reject);
    door.server.listen(port, host, resolve);
    await promise;
    door.server.off('error', reject);
    return door;
  }

  /** Where it listens. */
  get port(): number {
    const address = this.server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  /** How many connections there are that have finished their handshake. */
  get size(): number {
    return this.connections.size;
  }

  /**
   * Takes no more connections, and the port is free. Settles when none is left. Those without a request under way
   * end at once, the others with its answer. Nothing bounds how long that takes: see `end`.
   */
  close(): Promise<void> {
    if (!this.closing) {
      this.closing = true;
      this.server.close();
      // Node.js ends those that are idle between two requests.
      for (const connection of this.connections.values()) {
        if (!connection.used) connection.destroy();
      }
      this.tellIfEmpty();
    }
    return this.empty.promise;
  }

  /** Ends every connection that is left. */
  end(): void {
    for (const connection of this.connections.values()) connection.destroy();
  }

  worksNow(connection: Connection): void {
    this.share.move(connection);
  }

  /** Takes a new connection, and makes room for it. */
  private take(socket: Duplex): void {
    const newcomer = new Connection(socket, this);
    if (!this.events.mayConnect(newcomer)) {
      newcomer.destroy();
      return;
    }
    for (;;) {
      const closed = this.share.tooMany(newcomer);
      if (closed === undefined) break;
      this.share.remove(closed);
      closed.destroy();
      this.events.crowdedOut(closed);
      if (closed === newcomer) return;
    }
    if (socket.destroyed) return;
    this.share.add(newcomer);
    this.connections.set(socket, newcomer);
    socket.once('close', () => {
      this.share.remove(newcomer);
      this.connections.delete(socket);
      this.tellIfEmpty();
    });
  }

  /** One that is gone already is known to nobody else. */
  private connectionOf(socket: Duplex): Connection {
    return this.connections.get(socket) ?? new Connection(socket, this);
  }

  private tellIfEmpty(): void {
    if (this.closing && this.connections.size === 0) this.empty.resolve();
  }
}

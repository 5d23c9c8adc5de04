import type { Server } from 'bun';
import type { Certificate } from '../../../runtime/tls/certificate.ts';
import type { SocketData } from '../../../transports/websocket/websocket-connection.ts';
import type { WebSocketTopics } from '../../../transports/websocket/websocket-topics.ts';

type ConnectionServer = Server<SocketData>;
type Open = (tls: Certificate | undefined, port: number) => ConnectionServer;

export interface ListenersOptions {
  readonly topics: WebSocketTopics;
  readonly open: Open;
  /** Called when a server listens. */
  readonly opened: () => void;
}

/**
 * The HTTP server that accepts new connections, and earlier servers that still have connections. Bun can neither
 * change the certificate of a listening server nor pause it; instead, a new server on the same port takes its place.
 */
export class Listeners {
  private readonly options: ListenersOptions;
  /** Newest first. */
  private servers: readonly ConnectionServer[] = [];
  private isListening = false;
  private tls: Certificate | undefined;
  private port = 0;

  constructor(options: ListenersOptions) {
    this.options = options;
  }

  /**
   * Each event looks for subscribers in each server, which takes up to 0.2 µs per server; a server takes about 60 KB.
   */
  get serverCount(): number {
    return this.servers.length;
  }

  /** 0 before it was open. */
  get listeningPort(): number {
    return this.port;
  }

  /** Starts listening. Throws Bun's error if the port is taken or the certificate cannot be used. */
  open(tls: Certificate | undefined, port: number): { readonly port: number } {
    const server = this.options.open(tls, port);
    this.options.opened();
    this.tls = tls;
    this.port = server.port ?? port;
    this.isListening = true;
    this.serve([server, ...this.servers]);
    return { port: this.port };
  }

  /** Sets the certificate of new connections. Open connections keep theirs. */
  replace(tls: Certificate): void {
    // Try it on another port first, because the old server must stop before the new one can listen.
    void this.options.open(tls, 0).stop(true);
    if (!this.isListening) {
      this.tls = tls;
      return;
    }
    const before = this.tls;
    this.pause();
    try {
      this.open(tls, this.port);
    } catch (error) {
      this.open(before, this.port);
      throw error;
    }
  }

  /** Stops listening until `resume`; open connections stay. */
  pause(): void {
    this.isListening = false;
    void this.servers[0]?.stop();
  }

  /** Listens again. Throws Bun's error if the port cannot be opened at the moment. */
  resume(): void {
    this.forgetEmpty();
    this.open(this.tls, this.port);
  }

  /** Forgets earlier servers that have no connections left. */
  forgetEmpty(): void {
    const left = this.servers.filter(
      (server, index) => (index === 0 && this.isListening) || server.pendingWebSockets > 0,
    );
    if (left.length < this.servers.length) this.serve(left);
  }

  /** Sends no more events to the subscribers of topics. */
  mute(): void {
    this.options.topics.serve([]);
  }

  /** Stops listening. Settles when no connection is left. */
  async close(): Promise<void> {
    this.isListening = false;
    await Promise.all(this.servers.map((server) => server.stop()));
  }

  /** Closes the remaining connections. */
  async end(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.stop(true)));
  }

  private serve(servers: readonly ConnectionServer[]): void {
    this.servers = servers;
    this.options.topics.serve(servers);
  }
}

import type { Server } from 'bun';
import type { Certificate } from '../../runtime/certificate.ts';
import type { SocketData } from '../../transports/websocket/websocket-connection.ts';
import type { WebSocketTopics } from '../../transports/websocket/websocket-topics.ts';

type ConnectionServer = Server<SocketData>;
type Open = (tls: Certificate | undefined, port: number) => ConnectionServer;

export interface ListenersOptions {
  readonly topics: WebSocketTopics;
  readonly open: Open;
}

/**
 * The server that takes new connections, and earlier ones that still have some. Bun can neither change the certificate of a
 * listening server nor pause it, so a new server takes its place on the same port.
 */
export class Listeners {
  private readonly options: ListenersOptions;
  /** The newest first. */
  private servers: readonly ConnectionServer[] = [];
  private isListening = false;
  private tls: Certificate | undefined;
  private port = 0;

  constructor(options: ListenersOptions) {
    this.options = options;
  }

  /** Every event looks for subscribers in each server, which takes up to 0.2 µs; a server takes about 60 KB. */
  get serverCount(): number {
    return this.servers.length;
  }

  /** Starts listening. Throws Bun's error if the port is taken or the certificate cannot be used. */
  open(tls: Certificate | undefined, port: number): { readonly port: number } {
    const server = this.options.open(tls, port);
    this.tls = tls;
    this.port = server.port ?? port;
    this.isListening = true;
    this.serve([server, ...this.servers]);
    return { port: this.port };
  }

  /** Uses another certificate for new connections; open ones stay. */
  replace(tls: Certificate): void {
    // Tried on another port first, because the old server must stop before the new one can listen.
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

  /** Listens again. Throws Bun's error if the port cannot be opened now. */
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

  /** Stops listening; settles when no connection is left. */
  async close(): Promise<void> {
    this.isListening = false;
    await Promise.all(this.servers.map((server) => server.stop()));
  }

  /** Ends the remaining connections. */
  async end(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.stop(true)));
  }

  private serve(servers: readonly ConnectionServer[]): void {
    this.servers = servers;
    this.options.topics.serve(servers);
  }
}

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
 * The server that takes new connections, and those before it that still have some: Bun can neither change the
 * certificate of one that listens, nor let it pause, so another takes its place on the same port.
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

  /**
   * The one that listens, and those before it. Each event looks for its subscribers in each of them, for up to 0.2 µs,
   * and each takes some 60 KB.
   */
  get serverCount(): number {
    return this.servers.length;
  }

  /** Throws what Bun throws when the port is taken or the certificate cannot be used. */
  open(tls: Certificate | undefined, port: number): { readonly port: number } {
    const server = this.options.open(tls, port);
    this.tls = tls;
    this.port = server.port ?? port;
    this.isListening = true;
    this.serve([server, ...this.servers]);
    return { port: this.port };
  }

  /** Takes new connections with another certificate; those that are open stay. */
  replace(tls: Certificate): void {
    // Tried first on a port of its own: the old one must stop listening before the new one can begin.
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

  /** Takes no new connections until `resume`; those that are open stay. */
  pause(): void {
    this.isListening = false;
    void this.servers[0]?.stop();
  }

  /** Takes new connections again. Throws what Bun throws where the port cannot be opened now. */
  resume(): void {
    this.forgetEmpty();
    this.open(this.tls, this.port);
  }

  /** Forgets servers that take no connections and have none left. */
  forgetEmpty(): void {
    const left = this.servers.filter(
      (server, index) => (index === 0 && this.isListening) || server.pendingWebSockets > 0,
    );
    if (left.length < this.servers.length) this.serve(left);
  }

  /** Takes no more connections; settles when none is left. */
  async close(): Promise<void> {
    this.isListening = false;
    await Promise.all(this.servers.map((server) => server.stop()));
  }

  /** Ends whatever is left. */
  async end(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.stop(true)));
  }

  private serve(servers: readonly ConnectionServer[]): void {
    this.servers = servers;
    this.options.topics.serve(servers);
  }
}

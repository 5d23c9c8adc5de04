import type { Server } from 'bun';
import type { Certificate } from './messages.ts';
import type { WebSocketAudience } from './transports/websocket/audience.ts';
import type { ConnectionData } from './transports/websocket/connection.ts';

type Open = (tls: Certificate | undefined, port: number) => Server<ConnectionData>;

/**
 * The server that takes new connections, and those before it that still have some: Bun cannot change the
 * certificate of one that listens, so another takes its place on the same port.
 */
export class Listeners {
  private readonly audience: WebSocketAudience;
  private readonly openServer: Open;
  private servers: readonly Server<ConnectionData>[] = [];
  private tls: Certificate | undefined;

  constructor(audience: WebSocketAudience, openServer: Open) {
    this.audience = audience;
    this.openServer = openServer;
  }

  /** Throws what Bun throws when the port is taken or the certificate cannot be used. */
  open(tls: Certificate | undefined, port: number): { readonly port: number } {
    const server = this.openServer(tls, port);
    this.tls = tls;
    this.serve([server, ...this.servers]);
    return { port: server.port ?? port };
  }

  /** Takes new connections with another certificate; those that are open stay. */
  replace(tls: Certificate): void {
    const [current] = this.servers;
    // Asked now: a server that has stopped does not know its port any more.
    const port = current?.port;
    if (current === undefined || port === undefined) return;
    // Tried first on a port of its own: the old one must stop listening before the new one can begin.
    void this.openServer(tls, 0).stop(true);
    const before = this.tls;
    void current.stop();
    try {
      this.open(tls, port);
    } catch (error) {
      this.open(before, port);
      throw error;
    }
  }

  /** Forgets servers that take no connections and have none left. */
  forgetEmpty(): void {
    const [current, ...older] = this.servers;
    if (current === undefined || older.length === 0) return;
    this.serve([current, ...older.filter(({ pendingWebSockets }) => pendingWebSockets > 0)]);
  }

  /** Takes no more connections; settles when none is left. */
  async close(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.stop()));
  }

  /** Ends whatever is left. */
  async end(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.stop(true)));
  }

  private serve(servers: readonly Server<ConnectionData>[]): void {
    this.servers = servers;
    this.audience.serve(servers);
  }
}

import type { AppAddress } from '../../bench-app.ts';
import type { ConnectionOwner, KernelSockets } from '../kernel-sockets.ts';

/** After a line that makes a stream longer than this, pusher-js sends a new request. UTF-16 units. */
const STREAM_UNITS = 262_144;

const QUERY = 'protocol=7&client=fanfare-bench&version=8.6.0&t=1';

/** What all clients of a load process report to. */
export interface SessionOwner {
  subscribed(client: SessionClient): void;
  /** A line of messages, as it was read. */
  received(line: string): void;
  lost(client: SessionClient, why: string): void;
}

export interface SessionClientOptions {
  readonly app: AppAddress;
  readonly sockets: KernelSockets;
  readonly owner: SessionOwner;
  readonly transport: 'xhr_streaming' | 'xhr';
  readonly channel: string;
}

let made = 0;

/** A client without a WebSocket that listens to one channel, as pusher-js does it. */
export class SessionClient implements ConnectionOwner {
  private readonly options: SessionClientOptions;
  private readonly base: string;
  private fd: number;
  private requests = 0;
  /** The beginning of a line. */
  private rest = '';
  private units = 0;
  private isOver = false;

  constructor(options: SessionClientOptions) {
    this.options = options;
    made += 1;
    this.base = `/pusher/app/${options.app.key}/1/${process.pid}-${made}`;
    this.fd = this.connect(this);
    this.receive();
  }

  /** Breaks its request, as a page does that is closed. */
  leave(): void {
    this.isOver = true;
    this.options.sockets.close(this.fd);
  }

  received(bytes: Buffer, length: number): void {
    const lines = `${this.rest}${bytes.toString('latin1', 0, length)}`.split('\n');
    this.rest = lines.pop() ?? '';
    for (const line of lines) {
      // Heads and chunks end with a carriage return, and lines of a session do not.
      if (!line.endsWith('\r')) this.readLine(line);
    }
    if (this.units <= STREAM_UNITS || this.isOver) return;
    this.options.sockets.close(this.fd);
    this.fd = this.connect(this);
    this.receive();
  }

  closed(): void {
    this.end('the connection was closed');
  }

  private readLine(line: string): void {
    const { owner, transport, channel } = this.options;
    if (this.isOver) return;
    this.units += line.length + 1;
    if (line.startsWith('c')) return this.end(line);
    if (transport === 'xhr') this.receive();
    if (line.includes('pusher:connection_established')) {
      this.say({ event: 'pusher:subscribe', data: { channel } });
    } else if (line.includes('pusher_internal:subscription_succeeded')) {
      owner.subscribed(this);
    } else if (line.includes('pusher:ping')) {
      this.say({ event: 'pusher:pong', data: {} });
    } else if (line.includes('pusher:error')) {
      this.end(line);
    } else {
      owner.received(line);
    }
  }

  private end(why: string): void {
    if (this.isOver) return;
    this.leave();
    this.options.owner.lost(this, why);
  }

  private receive(): void {
    this.rest = '';
    this.units = 0;
    const { sockets, transport } = this.options;
    sockets.send(this.fd, this.request(transport, `${QUERY}&`, ''));
  }

  /** Sends a message over a connection of its own, because the other one is waiting. */
  private say(message: object): void {
    const { sockets } = this.options;
    const fd = this.connect({ received: () => sockets.close(fd), closed: () => undefined });
    sockets.send(fd, this.request('xhr_send', '', JSON.stringify([JSON.stringify(message)])));
  }

  private request(end: string, query: string, body: string): Uint8Array {
    this.requests += 1;
    const { host, port } = this.options.app;
    return Buffer.from(
      `POST ${this.base}/${end}?${query}n=${this.requests} HTTP/1.1\r\nHost: ${host}:${port}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
  }

  private connect(owner: ConnectionOwner): number {
    const { app, sockets } = this.options;
    return sockets.connect(app.host, app.port, owner, { goes: 'last' });
  }
}

import Emitter from './emitter.ts';
import type { Options } from './options.ts';
import { runtimeWith } from './platform.ts';
import Pusher from './pusher.ts';
import type { Socket } from './transports/transport-connection.ts';

/** What a client has said. */
export interface Said {
  readonly event: string;
  readonly channel?: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests know what they look for
  readonly data: any;
}

/** A WebSocket whose server is the test. */
export class ScriptedSocket implements Socket {
  onopen: Socket['onopen'] = null;
  onerror: Socket['onerror'] = null;
  onclose: Socket['onclose'] = null;
  onmessage: Socket['onmessage'] = null;
  readonly url: string;
  readonly texts: string[] = [];
  /** Whether the client has closed it. */
  isClosed = false;

  constructor(url: string) {
    this.url = url;
  }

  send(text: string): void {
    this.texts.push(text);
  }

  close(): void {
    this.isClosed = true;
  }

  /** What the client has said since the last call. */
  said(): Said[] {
    return this.texts.splice(0).map((text) => JSON.parse(text));
  }

  /** Opens the connection, and makes the handshake. */
  accept(socketId = '1.1', more: object = {}): void {
    this.onopen?.();
    this.says('pusher:connection_established', {
      socket_id: socketId,
      activity_timeout: 120,
      ...more,
    });
  }

  says(event: string, data: unknown, more: object = {}): void {
    this.frame(JSON.stringify({ event, data: JSON.stringify(data), ...more }));
  }

  frame(data: string): void {
    this.onmessage?.({ data });
  }

  confirms(channel: string, data: object = {}): void {
    this.says('pusher_internal:subscription_succeeded', data, { channel });
  }

  /** Closes as a server does; without a code, the connection breaks. */
  ends(code = 1006, reason = ''): void {
    this.onclose?.({ code, reason, wasClean: code !== 1006 });
  }
}

/** A world of clients and scripted sockets. */
export class Scripted implements Disposable {
  readonly sockets: ScriptedSocket[] = [];
  readonly network = new Emitter();
  private readonly clients: Pusher[] = [];

  client(options: Partial<Options> = {}): Pusher {
    const { sockets, network } = this;
    const runtime = Object.assign(runtimeWith(), {
      getNetwork: () => network,
      getWebSocketAPI: () => ScriptedSocket,
      createWebSocket(url: string) {
        const socket = new ScriptedSocket(url);
        sockets.push(socket);
        return socket;
      },
    });
    class Client extends Pusher {
      static override Runtime = runtime;
    }
    const client = new Client('key', { cluster: 'local', ...options });
    this.clients.push(client);
    return client;
  }

  /** The newest socket. */
  get socket(): ScriptedSocket {
    const socket = this.sockets.at(-1);
    if (socket === undefined) throw new Error('No client has connected');
    return socket;
  }

  [Symbol.dispose](): void {
    for (const client of this.clients) client.disconnect();
  }
}

import type { Server } from 'bun';
import type { Link } from './link.ts';
import type { Network } from './network.ts';
import { ServedSocket, type SocketCarrier } from './served-socket.ts';
import type { ArrivingRequest, ClientSide, ServerSide } from './sides.ts';
import type { Topics } from './topics.ts';

/** The server that has accepted a connection. */
export interface Acceptor {
  readonly network: Network;
  readonly options: ServeOptions;
  readonly topics: Topics;
  /** Notes which connection a request came over. */
  began(request: Request, accepted: Accepted): void;
  /** Forgets a connection that is over. */
  forget(accepted: Accepted): void;
  /** Something has ended, which a stop may wait for. */
  settle(): void;
}

/** What a server is opened with, as far as this model knows it. */
export interface ServeOptions {
  readonly port?: number;
  fetch(request: Request, server: Server<unknown>): MaybeResponse | Promise<MaybeResponse>;
  error(error: unknown): Response | Promise<Response>;
  readonly websocket: SocketHandlers;
}

type MaybeResponse = Response | undefined;

interface SocketHandlers {
  readonly backpressureLimit: number;
  open(socket: ServedSocket): void;
  message(socket: ServedSocket, text: string): void;
  pong(socket: ServedSocket, payload: Buffer): void;
  close(socket: ServedSocket, code: number, reason: string): void;
}

/** A connection that a server has accepted: requests one after the other, or a WebSocket. */
export class Accepted implements ServerSide, SocketCarrier {
  private readonly server: Acceptor;
  readonly link: Link;
  readonly address: string;
  /** The request that is being answered. */
  request: Request | undefined;
  socket: ServedSocket | undefined;
  private client: ClientSide | undefined;
  private aborter = new AbortController();
  private reader: { cancel(): Promise<void> } | undefined;

  constructor(server: Acceptor, link: Link) {
    this.server = server;
    this.link = link;
    this.address = addressOf(link.client.context.name);
    link.server.onEnded = () => this.gone(1006);
    link.server.onLost = () => this.gone(1006);
  }

  get isBusy(): boolean {
    return this.request !== undefined || this.socket !== undefined;
  }

  get topics(): Topics {
    return this.server.topics;
  }

  get waitingBytes(): number {
    return this.link.down.waitingBytes;
  }

  get waitingBytesMax(): number {
    return this.server.options.websocket.backpressureLimit;
  }

  get tamper(): SocketCarrier['tamper'] {
    return this.server.network.tampering.frames;
  }

  requested(arriving: ArrivingRequest, client: ClientSide): void {
    if (this.link.server.isOver) return;
    this.client = client;
    if (this.server.network.tampering.swallows?.(arriving) === true) {
      void this.respond(new Response('{}'));
      return;
    }
    const { method, target, headers, body } = arriving;
    this.aborter = new AbortController();
    const request = new Request(`http://simulated${target}`, {
      method,
      headers,
      signal: this.aborter.signal,
      ...(body === undefined ? {} : { body }),
    });
    this.request = request;
    this.server.began(request, this);
    void this.answer(request);
  }

  receivedFrame(text: string): void {
    if (this.socket === undefined) return;
    this.server.options.websocket.message(this.socket, text);
  }

  receivedPong(payload: string): void {
    if (this.socket === undefined) return;
    this.server.options.websocket.pong(this.socket, Buffer.from(payload));
  }

  receivedClose(code: number, reason: string): void {
    if (this.socket === undefined) return;
    this.sendClose(code, reason);
    this.socket.closed(code, reason);
  }

  upgrade(data: unknown): boolean {
    if (this.link.server.isOver) return false;
    this.send(100, (client) => client.upgraded());
    const socket = new ServedSocket(this, data);
    this.socket = socket;
    this.request = undefined;
    this.server.options.websocket.open(socket);
    return true;
  }

  sendFrame(text: string, bytes: number): void {
    const { network } = this.server;
    this.send(bytes, (client) => {
      client.frame(text);
      network.arrived(this.link);
    });
  }

  sendPing(payload: string): void {
    this.send(payload.length, (client) => client.pinged(payload));
  }

  sendClose(code: number, reason: string): void {
    this.send(reason.length, (client) => client.closed(code, reason));
    this.endLink();
  }

  endLink(): void {
    this.link.end(this.link.server);
    this.server.forget(this);
  }

  socketClosed(socket: ServedSocket, code: number, reason: string): void {
    this.socket = undefined;
    this.server.forget(this);
    this.server.options.websocket.close(socket, code, reason);
    this.server.settle();
  }

  /** The server closes everything. */
  close(): void {
    if (this.socket !== undefined) return this.socket.terminate();
    this.endLink();
    this.gone(1006);
  }

  private send(bytes: number, arrive: (client: ClientSide) => void): void {
    const { link } = this;
    if (link.server.isOver) return;
    link.down.send(bytes, () => {
      if (!link.client.isOver && this.client !== undefined) arrive(this.client);
    });
  }

  private async answer(request: Request): Promise<void> {
    const { server } = this;
    const { options } = server;
    let response: MaybeResponse;
    try {
      response = await options.fetch(request, server as unknown as Server<unknown>);
    } catch (error) {
      response = await options.error(error);
    }
    if (response === undefined || this.request !== request) return;
    await this.respond(response);
  }

  private async respond(response: Response): Promise<void> {
    const { status, headers, body } = response;
    const closes = headers.get('connection') === 'close';
    this.send(200, (client) => client.head(status));
    if (body !== null && !(await this.sendBody(body))) {
      // A response that is broken off shows itself by the end of its connection.
      this.endLink();
      this.gone(1006);
      return;
    }
    this.request = undefined;
    this.send(0, (client) => client.responseEnded());
    if (closes) this.endLink();
    this.server.settle();
  }

  /** Sends a body as the client takes it. `false`: it was broken off. */
  private async sendBody(body: ReadableStream<Uint8Array>): Promise<boolean> {
    const { link, server } = this;
    const reader = body.getReader();
    this.reader = reader;
    const decoder = new TextDecoder();
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (this.reader !== reader) return false;
        if (done || value === undefined) break;
        const text = decoder.decode(value, { stream: true });
        this.send(value.length, (client) => {
          client.chunk(text);
          server.network.arrived(link);
        });
        while (this.waitingBytes > 0 && !link.server.isOver) await Bun.sleep(1);
      }
    } catch {
      // The server has broken it off.
      return false;
    } finally {
      this.reader = undefined;
    }
    return true;
  }

  /** The connection is over. */
  private gone(code: number): void {
    this.server.forget(this);
    this.socket?.closed(code, '');
    if (this.request !== undefined) {
      this.request = undefined;
      this.aborter.abort();
      const { reader } = this;
      this.reader = undefined;
      void reader?.cancel().catch(() => undefined);
    }
    this.server.settle();
  }
}

/** Each client has an address of its own, of a network that is no proxy's. */
function addressOf(client: string): string {
  const number = Number(Bun.hash.crc32(client));
  return `203.0.${(number >> 8) & 255}.${number & 255}`;
}

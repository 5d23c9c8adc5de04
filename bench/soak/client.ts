import type { AppAddress } from '../bench-app.ts';
import { clientFrame, clientMessage, FrameScanner, opcodes } from '../load/frames.ts';
import { upgradeRequest } from '../load/raw-web-socket.ts';
import { subscribeMessage } from '../load/subscribe-message.ts';

/** A message to a client, parsed. */
export interface SoakMessage {
  readonly event: string;
  readonly channel?: string;
  readonly data?: unknown;
}

/** Receives what clients receive. */
export interface Receiver {
  received(client: SoakClient, message: SoakMessage): void;
  /** The server closed the connection. */
  lost(client: SoakClient, why: string): void;
}

/** One WebSocket connection that sends on command, and reports what it receives. */
export class SoakClient {
  /** The user of the client in presence channels. */
  readonly userId: string;
  private readonly app: AppAddress;
  private readonly receiver: Receiver;
  private readonly scanner = new FrameScanner();
  private readonly established = Promise.withResolvers<void>();
  private handshake: Buffer | undefined = Buffer.alloc(0);
  private socket: Bun.Socket<undefined> | undefined;
  private socketId = '';
  private leaving = false;
  private why = 'no close frame';

  private constructor(app: AppAddress, userId: string, receiver: Receiver) {
    this.app = app;
    this.userId = userId;
    this.receiver = receiver;
  }

  /** Settles when the server has confirmed the connection. */
  static async connect(app: AppAddress, userId: string, receiver: Receiver): Promise<SoakClient> {
    const client = new SoakClient(app, userId, receiver);
    client.socket = await Bun.connect({
      hostname: app.host,
      port: app.port,
      socket: {
        data: (_, bytes) => client.received(bytes),
        close: () => client.ended(),
        error: () => client.ended(),
      },
    });
    client.socket.write(upgradeRequest(app));
    await client.established.promise;
    return client;
  }

  subscribe(channel: string): void {
    const userId = channel.startsWith('presence-') ? this.userId : undefined;
    this.send(subscribeMessage(this.app, this.socketId, channel, userId));
  }

  unsubscribe(channel: string): void {
    this.send({ event: 'pusher:unsubscribe', data: { channel } });
  }

  ping(): void {
    this.send({ event: 'pusher:ping', data: {} });
  }

  whisper(channel: string, text: string): void {
    this.send({ event: 'client-chat', channel, data: text });
  }

  /** Disconnects with a close handshake. */
  close(): void {
    this.leaving = true;
    this.socket?.write(clientFrame(opcodes.close, Uint8Array.of(0x03, 0xe8)));
    this.socket?.end();
  }

  /** Disconnects without a close handshake. */
  drop(): void {
    this.leaving = true;
    this.socket?.terminate();
  }

  private send(message: object): void {
    this.socket?.write(clientMessage(message));
  }

  private received(bytes: Buffer): void {
    if (this.handshake === undefined) return this.scanner.scan(bytes, bytes.length, this);
    const head = Buffer.concat([this.handshake, bytes]);
    const end = head.indexOf('\r\n\r\n');
    this.handshake = end < 0 ? head : undefined;
    if (end >= 0) this.scanner.scan(head.subarray(end + 4), head.length - end - 4, this);
  }

  /** Called by the scanner. */
  frame(opcode: number, bytes: Buffer, start: number, end: number): void {
    if (opcode === opcodes.close) this.why = bytes.toString('utf8', start + 2, end);
    if (opcode !== opcodes.text || this.leaving) return;
    const message: SoakMessage = JSON.parse(bytes.toString('utf8', start, end));
    if (message.event === 'pusher:connection_established') {
      this.socketId = JSON.parse(String(message.data)).socket_id;
      this.established.resolve();
    } else if (message.event === 'pusher:ping') {
      this.send({ event: 'pusher:pong', data: {} });
    } else {
      this.receiver.received(this, message);
    }
  }

  private ended(): void {
    if (this.leaving) return;
    this.leaving = true;
    this.established.reject(new Error(this.why));
    this.receiver.lost(this, this.why);
  }
}

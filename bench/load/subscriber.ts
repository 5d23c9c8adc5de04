import { randomBytes } from 'node:crypto';
import type { AppAddress } from '../bench-app.ts';
import { EVENT_NAME, type SequenceReader } from './bench-event.ts';
import { clientFrame, clientMessage, FrameScanner, type FrameSink, opcodes } from './frames.ts';
import type { ConnectionOwner, KernelSockets } from './kernel-sockets.ts';

/** What all subscribers of a load process report to. */
export interface Audience {
  readonly sequences: SequenceReader;
  subscribed(subscriber: Subscriber): void;
  arrived(sequence: number, nowMs: number): void;
  /** The connection ended, before or after it was subscribed. */
  lost(subscriber: Subscriber, why: string): void;
}

/** A WebSocket connection, made by hand on a TCP connection, that listens to one channel. */
export class Subscriber implements ConnectionOwner, FrameSink {
  readonly channel: string;
  readonly #audience: Audience;
  readonly #sockets: KernelSockets;
  readonly #fd: number;
  readonly #scanner = new FrameScanner();
  #handshake: Buffer | undefined = Buffer.alloc(0);
  #whyLost = 'the connection was closed';
  #nowMs = 0;

  /** Connects; the audience is told when the server has confirmed the subscription. */
  constructor(audience: Audience, sockets: KernelSockets, app: AppAddress, channel: string) {
    this.#audience = audience;
    this.#sockets = sockets;
    this.channel = channel;
    this.#fd = sockets.connect(app.host, app.port, this);
    const request =
      `GET /app/${app.key}?protocol=7&client=fanfare-bench&version=1 HTTP/1.1\r\n` +
      `Host: ${app.host}:${app.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
      `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\nSec-WebSocket-Version: 13\r\n\r\n`;
    sockets.send(this.#fd, Buffer.from(request));
  }

  received(bytes: Buffer, length: number): void {
    // Once per read: what came together arrived together.
    this.#nowMs = performance.now();
    if (this.#handshake === undefined) this.#scanner.scan(bytes, length, this);
    else this.#readHandshake(Buffer.concat([this.#handshake, bytes.subarray(0, length)]));
  }

  closed(): void {
    this.#audience.lost(this, this.#whyLost);
  }

  frame(opcode: number, bytes: Buffer, start: number, end: number): void {
    if (opcode === opcodes.text) {
      const sequence = this.#audience.sequences.read(bytes, start, end);
      if (sequence >= 0) this.#audience.arrived(sequence, this.#nowMs);
      else this.#readMessage(bytes.toString('latin1', start, end));
    } else if (opcode === opcodes.ping) {
      this.#sockets.send(this.#fd, clientFrame(opcodes.pong, bytes.subarray(start, end)));
    } else if (opcode === opcodes.close) {
      const code = end - start < 2 ? 'no code' : bytes.readUInt16BE(start);
      this.#end(`the server closed with ${code} ${bytes.toString('latin1', start + 2, end)}`);
    }
  }

  #readHandshake(bytes: Buffer): void {
    const end = bytes.indexOf('\r\n\r\n');
    if (end < 0) {
      this.#handshake = bytes;
      return;
    }
    const status = bytes.toString('latin1', 9, 12);
    if (status !== '101') {
      this.#end(`the upgrade was answered with ${status}`);
      return;
    }
    this.#handshake = undefined;
    const rest = bytes.subarray(end + 4);
    this.#scanner.scan(rest, rest.length, this);
  }

  /** Reads anything that is not an event in the layout already learnt. */
  #readMessage(text: string): void {
    const message: unknown = JSON.parse(text);
    const event = typeof message === 'object' && message && 'event' in message && message.event;
    switch (event) {
      case EVENT_NAME: {
        const { sequences } = this.#audience;
        sequences.learn(text);
        const bytes = Buffer.from(text, 'latin1');
        this.#audience.arrived(sequences.read(bytes, 0, bytes.length), this.#nowMs);
        return;
      }
      case 'pusher:connection_established':
        this.#say({ event: 'pusher:subscribe', data: { channel: this.channel } });
        return;
      case 'pusher_internal:subscription_succeeded':
        this.#audience.subscribed(this);
        return;
      case 'pusher:ping':
        this.#say({ event: 'pusher:pong', data: {} });
        return;
      case 'pusher:error':
        // The server decides whether it goes on after this.
        this.#whyLost = text;
        return;
      // Whatever else a server tells its subscribers, such as a count, is no delivery.
      default:
    }
  }

  #say(message: object): void {
    this.#sockets.send(this.#fd, clientMessage(message));
  }

  #end(why: string): void {
    this.#sockets.close(this.#fd);
    this.#audience.lost(this, why);
  }
}

import { randomBytes } from 'node:crypto';
import type { AppAddress } from '../bench-app.ts';
import type { SequenceReader } from './bench-event.ts';
import { clientFrame, clientMessage, FrameScanner, type FrameSink, opcodes } from './frames.ts';
import type { ConnectionOwner, KernelSockets } from './kernel-sockets.ts';
import type { LastRead } from './last-read.ts';
import { subscribeMessage } from './subscribe-message.ts';

/** What all subscribers of a load process report to. */
export interface Audience {
  readonly sequences: SequenceReader;
  readonly lastRead: LastRead;
  subscribed(subscriber: Subscriber): void;
  /** A read brought something. */
  read(): void;
  arrived(sequence: number, nowMs: number): void;
  /** The server told of an error that is not about the subscription. */
  scolded(subscriber: Subscriber, why: string): void;
  /** The connection ended, before or after it was subscribed. */
  lost(subscriber: Subscriber, why: string): void;
}

/** What one connection listens to, and who it is there where that is asked. */
export interface Seat {
  readonly channel: string;
  readonly userId: string | undefined;
}

/** A WebSocket connection, made by hand on a TCP connection, that listens to one channel. */
export class Subscriber implements ConnectionOwner, FrameSink {
  readonly seat: Seat;
  readonly #audience: Audience;
  readonly #sockets: KernelSockets;
  readonly #app: AppAddress;
  readonly #fd: number;
  readonly #scanner = new FrameScanner();
  #handshake: Buffer | undefined = Buffer.alloc(0);
  #whyLost = 'the connection was closed';
  #nowMs = 0;

  /** Connects; the audience is told when the server has confirmed the subscription. */
  constructor(audience: Audience, sockets: KernelSockets, app: AppAddress, seat: Seat) {
    this.#audience = audience;
    this.#sockets = sockets;
    this.#app = app;
    this.seat = seat;
    this.#fd = sockets.connect(app.host, app.port, this);
    sockets.send(this.#fd, upgradeRequest(app));
  }

  /** Sends one whole frame. */
  send(frame: Uint8Array): void {
    this.#sockets.send(this.#fd, frame);
  }

  received(bytes: Buffer, length: number): void {
    // Once per read: what came together arrived together.
    this.#nowMs = performance.now();
    this.#audience.read();
    if (this.#handshake === undefined) this.#readFrames(bytes, length);
    else this.#readHandshake(Buffer.concat([this.#handshake, bytes.subarray(0, length)]));
  }

  #readFrames(bytes: Buffer, length: number): void {
    const { lastRead } = this.#audience;
    const sequences = this.#scanner.isBetweenFrames
      ? lastRead.sequencesIn(bytes, length)
      : undefined;
    if (sequences !== undefined) {
      for (const sequence of sequences) this.#audience.arrived(sequence, this.#nowMs);
      return;
    }
    lastRead.begin();
    this.#scanner.scan(bytes, length, this);
    if (this.#scanner.isBetweenFrames) lastRead.end(bytes, length);
  }

  closed(): void {
    this.#audience.lost(this, this.#whyLost);
  }

  frame(opcode: number, bytes: Buffer, start: number, end: number): void {
    if (opcode === opcodes.text) {
      const sequence = this.#audience.sequences.read(bytes, start, end);
      if (sequence >= 0) {
        this.#audience.lastRead.add(sequence);
        this.#audience.arrived(sequence, this.#nowMs);
        return;
      }
      this.#audience.lastRead.spoil();
      this.#readMessage(bytes.toString('latin1', start, end));
      return;
    }
    this.#audience.lastRead.spoil();
    if (opcode === opcodes.ping) {
      this.send(clientFrame(opcodes.pong, bytes.subarray(start, end)));
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

  /** Reads anything that is not an event in a layout already learnt. */
  #readMessage(text: string): void {
    const message: unknown = JSON.parse(text);
    const event = typeof message === 'object' && message && 'event' in message && message.event;
    switch (event) {
      case 'pusher:connection_established': {
        const socketId = /socket_id[^0-9]+([0-9.]+)/.exec(text)?.[1] ?? '';
        const { channel, userId } = this.seat;
        this.#say(subscribeMessage(this.#app, socketId, channel, userId));
        return;
      }
      case 'pusher_internal:subscription_succeeded':
        this.#audience.subscribed(this);
        return;
      case 'pusher:ping':
        this.#say({ event: 'pusher:pong', data: {} });
        return;
      case 'pusher:error':
        // The server decides whether it goes on after this.
        this.#whyLost = text;
        this.#audience.scolded(this, text);
        return;
      default: {
        // Whatever else a server tells its subscribers, such as a count, is no delivery.
        const { sequences } = this.#audience;
        sequences.learn(String(event), text);
        const bytes = Buffer.from(text, 'latin1');
        const sequence = sequences.read(bytes, 0, bytes.length);
        if (sequence >= 0) this.#audience.arrived(sequence, this.#nowMs);
      }
    }
  }

  #say(message: object): void {
    this.send(clientMessage(message));
  }

  #end(why: string): void {
    this.#sockets.close(this.#fd);
    this.#audience.lost(this, why);
  }
}

/** The request that makes a WebSocket of a TCP connection. RFC 6455, section 4.1. */
export function upgradeRequest(app: AppAddress): Buffer {
  return Buffer.from(
    `GET /app/${app.key}?protocol=7&client=fanfare-bench&version=1 HTTP/1.1\r\n` +
      `Host: ${app.host}:${app.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
      `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\nSec-WebSocket-Version: 13\r\n\r\n`,
  );
}

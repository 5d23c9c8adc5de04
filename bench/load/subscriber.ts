import type { AppAddress } from '../bench-app.ts';
import type { SequenceReader } from './bench-event.ts';
import { clientMessage, opcodes } from './frames.ts';
import type { KernelSockets } from './kernel-sockets.ts';
import type { LastRead } from './last-read.ts';
import { RawWebSocket } from './raw-web-socket.ts';
import { socketIdIn, subscribeMessage } from './subscribe-message.ts';

/** What all subscribers of a load process report to. */
export interface Audience {
  readonly sequences: SequenceReader;
  readonly lastRead: LastRead;
  subscribed(subscriber: Subscriber): void;
  /** A read brought something. */
  read(): void;
  arrived(sequence: number, nowMs: number): void;
  /** The server reported an error that is not about the subscription. */
  scolded(subscriber: Subscriber, why: string): void;
  /** The connection ended, before or after it was subscribed. */
  lost(subscriber: Subscriber, why: string): void;
}

/** The channel that one connection subscribes to, and its user in a presence channel. */
export interface Seat {
  readonly channel: string;
  readonly userId: string | undefined;
}

/** A WebSocket connection that listens to one channel. */
export class Subscriber extends RawWebSocket {
  readonly seat: Seat;
  private readonly audience: Audience;
  private readonly app: AppAddress;
  private lastError: string | undefined;
  private nowMs = 0;

  /** Connects; the audience is notified when the server has confirmed the subscription. */
  constructor(audience: Audience, sockets: KernelSockets, app: AppAddress, seat: Seat) {
    super(sockets, app);
    this.audience = audience;
    this.app = app;
    this.seat = seat;
  }

  override received(bytes: Buffer, length: number): void {
    // Once per read: all frames of one read arrived at the same time.
    this.nowMs = performance.now();
    this.audience.read();
    super.received(bytes, length);
  }

  override frame(opcode: number, bytes: Buffer, start: number, end: number): void {
    if (opcode !== opcodes.text) this.audience.lastRead.spoil();
    super.frame(opcode, bytes, start, end);
  }

  protected override readFrames(bytes: Buffer, length: number): void {
    const { scanner } = this;
    const { lastRead } = this.audience;
    const sequences = scanner.isBetweenFrames ? lastRead.sequencesIn(bytes, length) : undefined;
    if (sequences !== undefined) {
      for (const sequence of sequences) this.audience.arrived(sequence, this.nowMs);
      return;
    }
    lastRead.begin();
    scanner.scan(bytes, length, this);
    if (scanner.isBetweenFrames) lastRead.end(bytes, length);
  }

  protected readText(bytes: Buffer, start: number, end: number): void {
    const sequence = this.audience.sequences.read(bytes, start, end);
    if (sequence >= 0) {
      this.audience.lastRead.add(sequence);
      this.audience.arrived(sequence, this.nowMs);
      return;
    }
    this.audience.lastRead.spoil();
    this.readMessage(bytes.toString('latin1', start, end));
  }

  protected lost(why: string): void {
    this.audience.lost(this, this.lastError ?? why);
  }

  /** Reads anything that is not an event in a layout already learnt. */
  private readMessage(text: string): void {
    const message: unknown = JSON.parse(text);
    const event = typeof message === 'object' && message && 'event' in message && message.event;
    switch (event) {
      case 'pusher:connection_established': {
        const { channel, userId } = this.seat;
        this.say(subscribeMessage(this.app, socketIdIn(text), channel, userId));
        return;
      }
      case 'pusher_internal:subscription_succeeded':
        this.audience.subscribed(this);
        return;
      case 'pusher:ping':
        this.say({ event: 'pusher:pong', data: {} });
        return;
      case 'pusher:error':
        // The server decides whether the connection continues after this.
        this.lastError = text;
        this.audience.scolded(this, text);
        return;
      default: {
        // Other messages to subscribers, such as a count, are not deliveries.
        const { sequences } = this.audience;
        sequences.learn(String(event), text);
        const bytes = Buffer.from(text, 'latin1');
        const sequence = sequences.read(bytes, 0, bytes.length);
        if (sequence >= 0) this.audience.arrived(sequence, this.nowMs);
      }
    }
  }

  private say(message: object): void {
    this.send(clientMessage(message));
  }
}

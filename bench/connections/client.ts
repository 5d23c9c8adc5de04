import type { AppAddress } from '../bench-app.ts';
import { clientFrame, clientMessage, opcodes } from '../load/frames.ts';
import type { KernelSockets } from '../load/kernel-sockets.ts';
import { RawWebSocket } from '../load/raw-web-socket.ts';
import type { Subscriptions } from './subscriptions.ts';

const PONG = clientMessage({ event: 'pusher:pong', data: {} });
/** Code 1000: a client that has finished. RFC 6455, section 7.4.1. */
const GOODBYE = clientFrame(opcodes.close, Uint8Array.of(0x03, 0xe8));

/** What clients report to. */
export interface ClientOwner {
  /** The server has confirmed everything that it requested. */
  subscribed(client: BenchClient): void;
  /** It has sent a close frame, and the server has closed the connection. */
  left(client: BenchClient): void;
  /** It was refused, or its connection ended before it wanted to leave. */
  lost(client: BenchClient, why: string): void;
}

/** Where clients go, and to whom they report. */
export interface Destination {
  /** `host` is an IPv4 address. */
  readonly app: AppAddress;
  readonly sockets: KernelSockets;
  readonly owner: ClientOwner;
}

/** A WebSocket connection that does no more than it must to be subscribed. */
export class BenchClient extends RawWebSocket {
  private readonly owner: ClientOwner;
  private readonly subscriptions: Subscriptions;
  private isLeaving = false;
  private confirmed = 0;

  constructor({ app, sockets, owner }: Destination, subscriptions: Subscriptions) {
    super(sockets, app);
    this.owner = owner;
    this.subscriptions = subscriptions;
  }

  /** Sends a close frame, and lets the server end the connection, as RFC 6455 requires. */
  leave(): void {
    this.isLeaving = true;
    this.send(GOODBYE);
  }

  protected lost(why: string): void {
    if (this.isLeaving) this.owner.left(this);
    else this.owner.lost(this, why);
  }

  override frame(opcode: number, bytes: Buffer, start: number, end: number): void {
    // A close handshake is only complete when the connection is closed.
    if (opcode !== opcodes.close || !this.isLeaving) super.frame(opcode, bytes, start, end);
  }

  /** Distinguished by their names alone: a parser would cost the load more than everything else here. */
  protected readText(bytes: Buffer, start: number, end: number): void {
    const text = bytes.toString('latin1', start, end);
    if (text.includes('"pusher_internal:subscription_succeeded"')) {
      this.confirmed += 1;
      if (this.confirmed === this.subscriptions.channels) this.owner.subscribed(this);
    } else if (text.includes('"pusher:connection_established"')) {
      this.send(this.subscriptions.frames(text));
    } else if (text.includes('"pusher:ping"')) {
      this.send(PONG);
    } else if (text.includes('"pusher:error"') || text.includes('"pusher:subscription_error"')) {
      this.end(text);
    }
    // Other messages to subscribers, such as a count, are ignored.
  }
}

import type { Topics } from './topics.ts';

const OPEN = 1;
const CLOSED = 3;
/** Beside the text of a frame. Bytes. */
const HEADER_BYTES = 4;

/** The connection that carries a socket. */
export interface SocketCarrier {
  readonly address: string;
  readonly topics: Topics;
  /** What the client has not taken. */
  readonly waitingBytes: number;
  /** Beyond this, the connection is closed. */
  readonly waitingBytesMax: number;
  readonly tamper: ((socket: object, frame: string) => readonly string[]) | undefined;
  sendFrame(text: string, bytes: number): void;
  sendPing(payload: string): void;
  sendClose(code: number, reason: string): void;
  endLink(): void;
  socketClosed(socket: ServedSocket, code: number, reason: string): void;
}

/** A WebSocket of `Bun.serve`. A class of Bun cannot be constructed, so this has the methods that the server uses. */
export class ServedSocket {
  readonly data: unknown;
  readyState = OPEN;
  readonly binaryType = 'nodebuffer';
  private readonly carrier: SocketCarrier;
  private readonly joined = new Set<string>();
  private isTooSlow = false;

  constructor(carrier: SocketCarrier, data: unknown) {
    this.carrier = carrier;
    this.data = data;
  }

  get remoteAddress(): string {
    return this.carrier.address;
  }

  get subscriptions(): string[] {
    return [...this.joined];
  }

  subscribe(topic: string): boolean {
    if (this.readyState !== OPEN) return false;
    this.joined.add(topic);
    this.carrier.topics.add(topic, this);
    return true;
  }

  unsubscribe(topic: string): boolean {
    this.carrier.topics.delete(topic, this);
    return this.joined.delete(topic);
  }

  isSubscribed(topic: string): boolean {
    return this.joined.has(topic);
  }

  publish(topic: string, frame: string): number {
    return this.carrier.topics.publish(topic, frame, this);
  }

  getBufferedAmount(): number {
    return this.readyState === OPEN ? this.carrier.waitingBytes : 0;
  }

  cork(run: (socket: this) => void): this {
    run(this);
    return this;
  }

  send(frame: string): number {
    const { carrier } = this;
    if (this.readyState !== OPEN || this.isTooSlow) return 0;
    if (carrier.waitingBytes > carrier.waitingBytesMax) {
      // Bun closes it in a later turn of the loop, and sends no more before that.
      this.isTooSlow = true;
      setImmediate(() => this.terminate());
      return 0;
    }
    const frames = carrier.tamper?.(this, frame) ?? [frame];
    for (const one of frames) carrier.sendFrame(one, one.length + HEADER_BYTES);
    return frame.length;
  }

  ping(payload: string): number {
    if (this.readyState === OPEN) this.carrier.sendPing(payload);
    return payload.length;
  }

  close(code = 1000, reason = ''): void {
    if (this.readyState !== OPEN) return;
    this.carrier.sendClose(code, reason);
    this.closed(code, reason);
  }

  terminate(): void {
    if (this.readyState !== OPEN) return;
    this.carrier.endLink();
    this.closed(1006, '');
  }

  /** The connection is over. */
  closed(code: number, reason: string): void {
    if (this.readyState === CLOSED) return;
    this.readyState = CLOSED;
    for (const topic of this.joined) this.carrier.topics.delete(topic, this);
    this.joined.clear();
    this.carrier.socketClosed(this, code, reason);
  }
}

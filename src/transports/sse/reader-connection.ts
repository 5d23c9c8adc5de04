import { ClientConnection, type ClientConnectionOptions } from '../clients/connection.ts';
import type { StreamResponse } from '../stream-response.ts';
import { FIRST, KEEP_ALIVE, type StreamText } from './stream-text.ts';

/** How the connection of a reader has ended. */
export type ReaderEnd = 'closed' | 'left' | 'too-slow' | 'terminated';

/** What a connection reports to the readers of its loop. */
export interface ReaderEvents {
  /** A monotonic clock. */
  readonly now: () => number;
  /** The connection has something to write. */
  queued(connection: ReaderConnection): void;
  /** The connection has ended. With `'closed'` the client may not have read everything yet. */
  ended(connection: ReaderConnection, how: ReaderEnd): void;
  /** The response of a connection that was closed is over. */
  gone(connection: ReaderConnection): void;
}

export interface ReaderConnectionOptions extends ClientConnectionOptions {
  readonly text: StreamText;
  /** When its URL expires. Milliseconds since 1970; `Infinity`: never. */
  readonly expiresAtMs: number;
  readonly events: ReaderEvents;
}

/** A connection that only reads: the response to one request, which stays open. */
export class ReaderConnection extends ClientConnection {
  readonly expiresAtMs: number;
  private readonly text: StreamText;
  private readonly events: ReaderEvents;
  private response: StreamResponse | undefined;
  private queue: string[] = [FIRST];
  private queuedBytes = FIRST.length;
  /** When something was last written. Monotonic milliseconds. */
  private writtenAtMs = 0;
  private isOver = false;

  constructor(options: ReaderConnectionOptions) {
    super(options);
    this.text = options.text;
    this.expiresAtMs = options.expiresAtMs;
    this.events = options.events;
  }

  get transport(): string {
    return 'sse';
  }

  get isOpen(): boolean {
    return !this.isOver;
  }

  override get isOneWay(): boolean {
    return true;
  }

  /** Writes to this response from now on. */
  attach(response: StreamResponse): void {
    this.response = response;
  }

  send(frame: string): void {
    if (this.isOver) return;
    const text = this.text.of(frame);
    this.queue.push(text);
    this.queuedBytes += Buffer.byteLength(text);
    this.events.queued(this);
  }

  ping(): boolean {
    return false;
  }

  /** Ends the response after what was sent. The code is in a `pusher:error` that was sent before. */
  close(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.flush();
    this.response?.end();
    this.events.ended(this, 'closed');
  }

  terminate(): void {
    // Once closed it is no connection any more, and the client may still read why.
    if (!this.isOver) this.drop('terminated');
  }

  /** Ends the response at once, whatever waits for its client. */
  drop(how: ReaderEnd): void {
    this.queue = [];
    this.queuedBytes = 0;
    if (!this.isOver) {
      this.isOver = true;
      this.events.ended(this, how);
    }
    this.response?.break();
  }

  /** The response is over: its client has left, or has all of it. */
  gone(): void {
    if (this.isOver) this.events.gone(this);
    else this.drop('left');
  }

  waitingBytes(): number {
    return this.queuedBytes + this.unreadBytes();
  }

  /** Writes what is queued. */
  flush(): void {
    if (this.queue.length === 0) return;
    const text = this.queue.join('');
    this.queue = [];
    this.queuedBytes = 0;
    this.write(text);
  }

  /** Flushes, and returns the bytes that its client is behind: a socket had no time yet to take what this writes. */
  flushBehind(): number {
    const isBehind = this.unreadBytes() > 0;
    this.flush();
    return isBehind ? this.unreadBytes() : 0;
  }

  /** Writes a comment if nothing was written since `sinceMs`, so that no proxy considers the response dead. */
  keepAlive(sinceMs: number): void {
    if (this.writtenAtMs <= sinceMs && this.waitingBytes() === 0) this.write(KEEP_ALIVE);
  }

  private unreadBytes(): number {
    return this.response?.waitingBytes() ?? 0;
  }

  private write(text: string): void {
    this.writtenAtMs = this.events.now();
    this.response?.write(text);
  }
}

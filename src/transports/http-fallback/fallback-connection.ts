import type { Timers } from '../../runtime/ports.ts';
import { Connection, type ConnectionOptions } from '../clients/connection.ts';
import { closeLine, elementOf, KEEP_ALIVE, messagesLine } from './lines.ts';
import type { Receiver } from './receiver.ts';
import { SendOrder } from './send-order.ts';

/** Messages of one send request. */
export interface Send {
  readonly frames: readonly string[];
}

export interface FallbackConnectionOptions extends ConnectionOptions {
  /** Names it: see `SessionPath`. */
  readonly session: string;
  readonly events: SessionEvents;
}

/** How a session ended. */
export type SessionEnd = 'closed' | 'left' | 'too-slow' | 'terminated';

/** What a connection reports to the sessions of its loop. */
export interface SessionEvents {
  readonly timers: Timers;
  /** Whether messages wait for the next round, because the loop is busy. */
  readonly isPausing: boolean;
  /** It has something to write. */
  queued(connection: FallbackConnection): void;
  /** The next messages of its client, in order. */
  sent(connection: FallbackConnection, send: Send): void;
  /** It is no connection any more. With `'closed'` the client may not have read the closing line yet. */
  ended(connection: FallbackConnection, how: SessionEnd): void;
  /** The client has the line that closes it. */
  closeSent(connection: FallbackConnection): void;
}

/**
 * A connection over HTTP requests: frames wait in a queue until a receive request can carry them. After `close`, this
 * object remains until the client has received the closing line.
 */
export class FallbackConnection extends Connection {
  readonly session: string;
  readonly order: SendOrder<Send>;
  /** The number of the last receive request; `undefined`: the client does not number them. */
  lastReceive: number | undefined;
  /** Since when there is no receive request, or the connection is closed; monotonic milliseconds. */
  aloneSinceMs = 0;
  private readonly events: SessionEvents;
  private receiver: Receiver | undefined;
  private elements: string[] = [];
  private queuedBytes = 0;
  private owesLine = false;
  private ending: string | undefined;
  private isOver = false;

  constructor(options: FallbackConnectionOptions) {
    super(options);
    this.session = options.session;
    this.events = options.events;
    this.order = new SendOrder(options.events.timers, (send) => options.events.sent(this, send));
  }

  get transport(): string {
    return 'http';
  }

  get isOpen(): boolean {
    return !this.isOver;
  }

  /** Whether the connection is open and has a receive request. */
  get isReceiving(): boolean {
    return this.receiver !== undefined && !this.isOver;
  }

  send(frame: string): void {
    if (this.isOver) return;
    const element = elementOf(frame);
    this.elements.push(element);
    this.queuedBytes += element.length;
    this.events.queued(this);
  }

  ping(): boolean {
    return false;
  }

  close(code: number, reason: string): void {
    if (this.isOver) return;
    this.ending = closeLine(code, reason);
    this.end('closed');
    this.flush();
  }

  terminate(): void {
    // Once closed it is no connection any more, and the client may still read why.
    if (!this.isOver) this.drop('terminated');
  }

  /** Ends it without a closing line: the client has left, or would not read it. */
  drop(how: SessionEnd): void {
    const { receiver } = this;
    this.receiver = undefined;
    this.elements = [];
    this.queuedBytes = 0;
    if (!this.isOver) this.end(how);
    receiver?.break();
  }

  waitingBytes(): number {
    return this.queuedBytes + (this.receiver?.waitingBytes() ?? 0);
  }

  /** Promises a line, which shows the client that the session lives. */
  oweLine(): void {
    this.owesLine = true;
    this.events.queued(this);
  }

  /** Uses a receive request from now on. The one before gets nothing more. */
  attach(receiver: Receiver): void {
    const before = this.receiver;
    this.receiver = receiver;
    before?.end();
    if (this.isOver || !this.events.isPausing) this.flush();
    else this.events.queued(this);
    // Bun sends the head of a stream with its first line: without one, client and proxies would wait for it.
    if (this.isReceiving && receiver.isUnanswered) this.write(receiver, KEEP_ALIVE);
  }

  /** A receive request has ended: the client has read or broken it, or reads too slowly. */
  detach(receiver: Receiver, why?: 'too-slow'): void {
    if (this.receiver !== receiver) return;
    this.release();
    // A client that breaks a request which it has not read to its end has given the session up. Source: §10.2.
    if (this.isOver) return;
    if (why !== undefined) this.drop(why);
    else if (!receiver.isFull) this.drop('left');
  }

  /** Writes queued frames, as many as the client can receive now. */
  flush(): void {
    const { receiver } = this;
    if (receiver === undefined || receiver.isFull) return;
    const hasMessages = this.elements.length > 0 || this.owesLine;
    let lines = hasMessages ? messagesLine(this.elements) : '';
    const mayEnd = receiver.hasRoomBehind(lines.length);
    const { ending } = this;
    const isLast = ending !== undefined && mayEnd;
    if (isLast) lines += ending;
    if (lines === '') return;
    this.elements = [];
    this.queuedBytes = 0;
    this.owesLine = false;
    this.write(receiver, lines);
    if (!isLast) return;
    this.receiver = undefined;
    receiver.end();
    this.events.closeSent(this);
  }

  /** Writes a line if nothing was written since `sinceMs`, so that no proxy considers the response dead. */
  keepAlive(sinceMs: number): void {
    const { receiver } = this;
    if (receiver === undefined || receiver.writtenAtMs > sinceMs) return;
    this.write(receiver, KEEP_ALIVE);
  }

  private write(receiver: Receiver, lines: string): void {
    receiver.write(lines, this.events.timers.now());
    if (receiver.isPoll) this.release();
  }

  private release(): void {
    this.receiver = undefined;
    this.aloneSinceMs = this.events.timers.now();
  }

  private end(how: SessionEnd): void {
    this.isOver = true;
    this.aloneSinceMs = this.events.timers.now();
    this.order.forget();
    this.events.ended(this, how);
  }
}

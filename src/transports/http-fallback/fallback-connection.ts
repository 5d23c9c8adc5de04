import type { Timers } from '../../runtime/ports.ts';
import { ClientConnection, type ClientConnectionOptions } from '../clients/connection.ts';
import { ReadProgress } from '../unread-answers.ts';
import { closeLine, elementOf, KEEP_ALIVE, messagesLine } from './lines.ts';
import type { Receiver } from './receiver.ts';
import type { ResponseLoss } from './response-end.ts';
import { SendOrder } from './send-order.ts';

/** Messages of one send request. */
export interface SentMessages {
  readonly frames: readonly string[];
}

export interface FallbackConnectionOptions extends ClientConnectionOptions {
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
  /** The connection has something to write. */
  queued(connection: FallbackConnection): void;
  /** The next messages of its client, in order. */
  sent(connection: FallbackConnection, send: SentMessages): void;
  /** The connection has ended. With `'closed'` the client may not have read the closing line yet. */
  ended(connection: FallbackConnection, how: SessionEnd): void;
  /** The client has the line that closes it, or will not get it. */
  closeSent(connection: FallbackConnection): void;
  /** See `SessionHomes`. */
  afterArrivals(run: () => void): void;
}

/**
 * A connection over HTTP requests: frames wait in a queue until a receive request can carry them. A response stays with its
 * connection until the socket has taken all of it; before that, nothing is written to another one. After `close`, this object
 * remains until the client has received the closing line.
 */
export class FallbackConnection extends ClientConnection {
  readonly session: string;
  readonly order: SendOrder<SentMessages>;
  /** The number of the last receive request; `undefined`: the client does not number them. */
  lastReceive: number | undefined;
  /** Since when there is no receive request, or the connection is closed; monotonic milliseconds. */
  aloneSinceMs = 0;
  private readonly events: SessionEvents;
  private receiver: Receiver | undefined;
  /** A response that has ended, and of which the socket has not taken everything. */
  private leaving: Receiver | undefined;
  private leavingProgress: ReadProgress | undefined;
  /** The receive request that the client has broken, if there is none since. */
  private broken: Receiver | undefined;
  private elements: string[] = [];
  private queuedBytes = 0;
  private owesLine = false;
  private ending: string | undefined;
  private isOver = false;
  /** Whether the closing line was written. */
  private isLineWritten = false;

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
    // As the socket will count them: not in UTF-16 units.
    this.queuedBytes += Buffer.byteLength(element);
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
    const { receiver, leaving } = this;
    this.receiver = undefined;
    this.leaving = undefined;
    this.elements = [];
    this.queuedBytes = 0;
    if (!this.isOver) this.end(how);
    receiver?.break();
    leaving?.break();
  }

  waitingBytes(): number {
    return this.queuedBytes + this.unreadBytes();
  }

  /** Flushes, and returns the bytes that its client is behind: a socket had no time yet to take what this writes. */
  flushBehind(): number {
    const isBehind = this.unreadBytes() > 0;
    this.flush();
    return isBehind ? this.waitingBytes() : this.queuedBytes;
  }

  /** Bytes that wait in responses. */
  private unreadBytes(): number {
    return (this.receiver?.waitingBytes() ?? 0) + (this.leaving?.waitingBytes() ?? 0);
  }

  /** Whether its client takes nothing of a response that has ended. Called regularly. */
  isStuck(nowMs: number): boolean {
    if (this.leaving === undefined) return false;
    this.leavingProgress ??= new ReadProgress();
    return this.leavingProgress.hasStopped(this.leaving.waitingBytes(), nowMs);
  }

  /** Whether a response has ended that its client has not taken. */
  get isLeaving(): boolean {
    return this.leaving !== undefined;
  }

  /** Promises a line, which shows the client that the session lives. */
  oweLine(): void {
    this.owesLine = true;
    this.events.queued(this);
  }

  /** Uses a receive request from now on. The one before gets nothing more. */
  attach(receiver: Receiver): void {
    if (this.isLineWritten) return receiver.end();
    const before = this.receiver;
    this.receiver = receiver;
    this.broken = undefined;
    if (before !== undefined) this.endResponse(before);
    if (this.leaving === undefined) this.serve();
  }

  /** A response has ended. `why`: unless the socket has taken all of it. */
  detach(receiver: Receiver, why?: ResponseLoss): void {
    if (receiver === this.leaving) return this.left(why);
    if (receiver !== this.receiver) return;
    this.release();
    if (this.isOver) return;
    if (why !== undefined) this.drop(why === 'lost' ? 'left' : why);
    else if (!receiver.isFull) this.brokenOff(receiver);
  }

  /** Writes queued frames, as many as the client can receive now. */
  flush(): void {
    const { receiver } = this;
    if (receiver === undefined || receiver.isFull || this.leaving !== undefined) return;
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
    this.isLineWritten = isLast;
    this.write(receiver, lines);
    if (isLast && !receiver.isPoll) this.endResponse(receiver);
  }

  /** Writes a line if nothing was written since `sinceMs`, so that no proxy considers the response dead. */
  keepAlive(sinceMs: number): void {
    const { receiver } = this;
    if (receiver === undefined || receiver.writtenAtMs > sinceMs || this.isLeaving) return;
    this.write(receiver, KEEP_ALIVE);
  }

  /** Uses its receive request, now that nothing else is being written. */
  private serve(): void {
    if (this.isOver || !this.events.isPausing) this.flush();
    else this.events.queued(this);
    const { receiver } = this;
    // Bun sends the head of a stream with its first line: without one, client and proxies would wait for it.
    if (this.isReceiving && receiver?.isUnanswered) this.write(receiver, KEEP_ALIVE);
  }

  private write(receiver: Receiver, lines: string): void {
    // A poll ends with this, perhaps before `write` returns.
    if (receiver.isPoll) this.leave(receiver);
    receiver.write(lines, this.events.timers.now());
  }

  /** Ends a response. While another one is leaving, nothing was written to this one. */
  private endResponse(receiver: Receiver): void {
    if (!this.isLeaving) this.leave(receiver);
    receiver.end();
  }

  /**
   * A client that breaks a request which it has not read to its end has given the session up, unless it has sent a newer one
   * before. Source: §10.2 and §10.3.
   */
  private brokenOff(receiver: Receiver): void {
    this.broken = receiver;
    this.events.afterArrivals(() => {
      if (this.broken === receiver) this.drop('left');
    });
  }

  private leave(receiver: Receiver): void {
    this.leaving = receiver;
    this.leavingProgress = undefined;
    if (this.receiver === receiver) this.release();
  }

  /** The response that was leaving is gone. */
  private left(why: ResponseLoss | undefined): void {
    this.leaving = undefined;
    this.aloneSinceMs = this.events.timers.now();
    if (this.isLineWritten) return this.events.closeSent(this);
    // Its messages are lost.
    if (why !== undefined && !this.isOver) return this.drop(why === 'lost' ? 'left' : why);
    this.serve();
  }

  private release(): void {
    this.receiver = undefined;
    this.aloneSinceMs = this.events.timers.now();
  }

  private end(how: SessionEnd): void {
    this.isOver = true;
    this.broken = undefined;
    this.aloneSinceMs = this.events.timers.now();
    this.order.forget();
    this.events.ended(this, how);
  }
}

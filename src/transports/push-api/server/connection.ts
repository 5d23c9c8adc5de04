import type { Socket } from 'bun';
import { addressKey } from '../../../runtime/ip-address.ts';
import { peerAddress } from '../../../runtime/listen-host.ts';
import { monotonicTimers } from '../../../runtime/system-timers.ts';
import type { PushBounds } from '../bounds.ts';
import type { Client } from '../call.ts';
import { BodyReader } from './http/body-reader.ts';
import { emptyLinesOf, type HttpFault, type RequestHead, readHead } from './http/request-head.ts';

/** Handles one request of a connection. */
export interface RequestOfConnection {
  /** A part of the body has arrived. */
  receive(part: Buffer): void;
  /** The body is complete. */
  complete(): void;
  /** The rest of the body will not arrive, or not in time. */
  stopReceiving(why: HttpFault | 'timeout'): void;
  /** The connection is closed. */
  connectionClosed(): void;
}

/** The connection of a request, as far as the handler of the request needs it. */
export interface RequestConnection {
  /** The other end of the connection; possibly a proxy. */
  readonly peer: Client;
  readonly isClosed: boolean;
  /** Whether the connection closes with its next answer. */
  readonly isClosing: boolean;
  continue(): void;
  holdBody(isHeld: boolean): void;
  dropInput(): void;
  answer(bytes: Buffer, end: AnswerEnd, onSent: () => void): boolean;
  endAnswer(): void;
  cutOff(): boolean;
  destroy(): void;
}

/** What follows an answer. */
export interface AnswerEnd {
  readonly isLast: boolean;
  /** The connection stays open for a while, because its client is still sending. */
  readonly lingers: boolean;
}

/** The server that a connection belongs to. */
export interface PushConnectionOwner {
  readonly bounds: PushBounds;
  /** The host that it listens on. */
  readonly host: string;
  /** Whether each connection closes with its next answer. */
  readonly isClosing: boolean;
  /** Called when `isWorking` of the connection has changed. */
  workChanged(connection: PushConnection): void;
  /** Whether a request may begin in this turn of the loop. If not, `goOn` of the connection is called in a later one. */
  mayBegin(connection: PushConnection): boolean;
  onRequest(head: RequestHead, connection: PushConnection): RequestOfConnection;
  /** What has arrived is no request. `start` are its first bytes. */
  onFault(fault: HttpFault | 'timeout', connection: PushConnection, start: Buffer): void;
  /** The connection is cut off because it has sent too much in advance. */
  onAdvance(connection: PushConnection): void;
}

/** The request that is being served. */
interface Current {
  readonly head: RequestHead;
  readonly body: BodyReader;
  readonly startedAtMs: number;
  handler: RequestOfConnection | undefined;
  isComplete: boolean;
  isAnswered: boolean;
  /** The connection closes after the answer. */
  isLast: boolean;
  /** Called when the socket has taken the whole answer. */
  onSent: (() => void) | undefined;
}

const NOTHING = Buffer.alloc(0);

/**
 * One connection: HTTP/1 over a socket. It serves one request after the other. What a client sends in advance waits as bytes, and
 * each further request waits for its turn among all connections.
 */
export class PushConnection implements RequestConnection {
  readonly peer: Client;
  /** Whether it has sent a request. */
  isUsed = false;
  isClosed = false;
  /** TLS: the handshake is done. */
  isEstablished: boolean;
  private readonly socket: Socket<PushConnection>;
  private readonly owner: PushConnectionOwner;
  /** What has arrived and was not read yet. */
  private input: Buffer = NOTHING;
  /** Up to here, `input` holds no end of a head. */
  private searched = 0;
  /** What the socket has not taken yet. */
  private output: Buffer[] = [];
  private current: Current | undefined;
  private waitsForTurn = false;
  private isGoingOn = false;
  private isPaused = false;
  /** The body is not wanted yet. */
  private isHeld = false;
  /** The client sends no more. */
  private hasEnded = false;
  /** Nothing more is read: the last answer is on its way. */
  private isEnding = false;
  private endsWhenSent = false;
  private stopLingering: (() => void) | undefined;
  private isCutOff = false;
  private wasWorking = false;
  /** Since when it has waited for a request, for the rest of a head, or for its last answer to be read. */
  private sinceMs = performance.now();

  constructor(socket: Socket<PushConnection>, owner: PushConnectionOwner, isEstablished: boolean) {
    this.socket = socket;
    this.owner = owner;
    this.isEstablished = isEstablished;
    const address = peerAddress(owner.host, socket.remoteAddress);
    this.peer = { address, addressKey: addressKey(address) };
  }

  get isClosing(): boolean {
    return this.owner.isClosing;
  }

  /** Whether a complete request is being answered. Otherwise, closing the connection only costs its client time. */
  get isWorking(): boolean {
    return this.current?.isComplete === true && !this.current.isAnswered;
  }

  /** Whether it waits for the first byte of a request. */
  get isIdle(): boolean {
    return this.current === undefined && this.input.length === 0;
  }

  /** Bytes have arrived. */
  received(bytes: Buffer): void {
    if (this.isEnding) return;
    if (this.isIdle) this.sinceMs = performance.now();
    this.input = this.input.length === 0 ? bytes : Buffer.concat([this.input, bytes]);
    this.goOn();
  }

  /** The client sends no more. */
  ended(): void {
    this.hasEnded = true;
    this.goOn();
  }

  /** The socket takes more. */
  drained(): void {
    // The runtime also calls this for sockets to which nothing was written.
    if (this.output.length === 0) return;
    for (let [bytes] = this.output; bytes !== undefined; [bytes] = this.output) {
      const taken = Math.max(0, this.socket.write(bytes));
      if (taken < bytes.length) {
        this.output[0] = bytes.subarray(taken);
        return;
      }
      this.output.shift();
    }
    this.sent();
  }

  /** The socket has closed. */
  closed(): void {
    this.isClosed = true;
    this.isEnding = true;
    this.input = NOTHING;
    this.output = [];
    this.stopLingering?.();
    const { current } = this;
    this.current = undefined;
    current?.handler?.connectionClosed();
    current?.onSent?.();
    this.reportWork();
  }

  /** Reads on, unless a request is being answered. */
  goOn(): void {
    // An answer within the loop makes it go on.
    if (this.isGoingOn) return;
    this.isGoingOn = true;
    this.waitsForTurn = false;
    while (!this.isEnding) {
      const { current } = this;
      if (current === undefined ? !this.beginNext() : current.isComplete) break;
      if (current !== undefined && !this.readBody(current)) break;
    }
    this.isGoingOn = false;
    this.checkReading();
  }

  /** Ends a connection that has waited too long for its client. */
  checkTime(nowMs: number): void {
    const { headMs, requestMs, idleMs, unreadAnswerMs } = this.owner.bounds;
    const { current } = this;
    if (this.waitsForTurn) return;
    if (this.isEnding) {
      if (this.output.length > 0 && nowMs - this.sinceMs > unreadAnswerMs) this.destroy();
    } else if (current !== undefined) {
      if (current.isComplete || nowMs - current.startedAtMs <= requestMs) return;
      this.stopReceiving(current, 'timeout');
    } else if (this.isUsed && this.input.length === 0) {
      if (idleMs > 0 && nowMs - this.sinceMs > idleMs) this.destroy();
    } else if (nowMs - this.sinceMs > headMs) {
      if (this.isEstablished) this.owner.onFault('timeout', this, this.input);
      else this.destroy();
    }
  }

  /** Tells the client to send the body. */
  continue(): void {
    this.write(Buffer.from('HTTP/1.1 100 Continue\r\n\r\n'));
  }

  /** Reads no more of the body for now. What has arrived already is handed on. */
  holdBody(isHeld: boolean): void {
    this.isHeld = isHeld;
    this.checkReading();
  }

  /** What follows is no body and no request: nothing more is read. */
  dropInput(): void {
    this.input = NOTHING;
    this.hasEnded = true;
    if (this.current !== undefined) this.current.isComplete = true;
    this.reportWork();
  }

  /**
   * Answers the request. Returns whether the socket has taken all of it; otherwise, `onSent` is called when it has, or when it is
   * closed. If the answer is the last one, the connection closes after it, or with `endAnswer` if it lingers.
   */
  answer(bytes: Buffer, { isLast, lingers }: AnswerEnd, onSent: () => void): boolean {
    const { current } = this;
    if (current === undefined || this.isClosed) return true;
    current.isAnswered = true;
    current.isLast = isLast && !lingers;
    this.reportWork();
    this.write(bytes);
    if (this.output.length > 0) {
      current.onSent = onSent;
      return false;
    }
    this.sent();
    return true;
  }

  /** Closes the connection after an answer that has lingered. */
  endAnswer(): void {
    if (this.current !== undefined) this.current.isLast = true;
    this.sent();
  }

  /**
   * Sends a final answer to what is no request, and closes the connection. Returns `false` if it is already closing.
   */
  endWith(answer: string, lingerMs: number): boolean {
    if (this.isEnding) return false;
    this.isEnding = true;
    this.sinceMs = performance.now();
    this.input = NOTHING;
    this.write(Buffer.from(answer));
    // The client may still be sending. If we closed now, the system would discard the answer.
    if (lingerMs === 0) this.end();
    else this.stopLingering = monotonicTimers.after(lingerMs, () => this.destroy());
    return true;
  }

  /** Ends the connection at once. Returns `false` if it was cut off before, so that only one reason is logged. */
  cutOff(): boolean {
    if (this.isCutOff) return false;
    this.isCutOff = true;
    this.destroy();
    return true;
  }

  /** Ends the connection at once. */
  destroy(): void {
    this.isEnding = true;
    if (!this.isClosed) this.socket.terminate();
  }

  /** Begins the next request, if its head is there. Returns whether one has begun. */
  private beginNext(): boolean {
    const empty = emptyLinesOf(this.input);
    if (empty > 0) {
      this.input = this.input.subarray(empty);
      this.searched = 0;
    }
    if (this.input.length === 0) {
      if (this.hasEnded) this.end();
      return false;
    }
    // A head that has not arrived yet costs no turn.
    const isHead = this.input.indexOf('\r\n\r\n', this.searched, 'latin1') >= 0;
    if (isHead && !this.owner.mayBegin(this)) {
      this.waitsForTurn = true;
      return false;
    }
    const found = readHead(this.input, this.searched);
    if (found === undefined && !this.hasEnded) {
      this.searched = Math.max(0, this.input.length - 3);
      return false;
    }
    this.searched = 0;
    if (found === undefined || typeof found === 'string') {
      this.isUsed = true;
      this.owner.onFault(found ?? 'incomplete', this, this.input);
      return false;
    }
    this.input = this.input.subarray(found.end);
    this.begin(found.head);
    return true;
  }

  private begin(head: RequestHead): void {
    this.isUsed = true;
    const current: Current = {
      ...{ head, body: new BodyReader(head.framing), startedAtMs: this.sinceMs },
      ...{ handler: undefined, isAnswered: false, isLast: false, onSent: undefined },
      isComplete: head.framing !== 'chunks' && head.framing.bytes === 0,
    };
    this.current = current;
    this.reportWork();
    current.handler = this.owner.onRequest(head, this);
  }

  /** Hands on what has arrived of the body. Returns whether there may be more to read. */
  private readBody(current: Current): boolean {
    const part = current.body.read(this.input);
    if (part === undefined) {
      this.stopReceiving(current, 'chunk');
      return false;
    }
    this.input = this.input.subarray(part.used);
    for (const data of part.data) {
      current.handler?.receive(data);
      // The request may have been refused, and all that follows dropped.
      if (this.current !== current || current.isComplete) return true;
    }
    if (!part.isComplete) {
      if (this.hasEnded) this.stopReceiving(current, 'incomplete');
      return false;
    }
    current.isComplete = true;
    this.reportWork();
    current.handler?.complete();
    this.nextIfDone();
    return true;
  }

  private stopReceiving({ handler }: Current, why: HttpFault | 'timeout'): void {
    this.dropInput();
    handler?.stopReceiving(why);
  }

  private write(bytes: Buffer): void {
    if (this.isClosed) return;
    const taken = this.output.length > 0 ? 0 : Math.max(0, this.socket.write(bytes));
    if (taken < bytes.length) this.output.push(bytes.subarray(taken));
  }

  /** The socket has taken everything. */
  private sent(): void {
    if (this.output.length > 0) return;
    const { current } = this;
    if (current?.isAnswered === true) {
      const { onSent } = current;
      current.onSent = undefined;
      onSent?.();
      if (current.isLast) {
        this.isEnding = true;
        this.current = undefined;
        this.reportWork();
      }
    }
    if (this.endsWhenSent || current?.isLast === true) this.end();
    else if (this.nextIfDone()) this.goOn();
  }

  /** Returns whether the request is over, and the next one may begin. */
  private nextIfDone(): boolean {
    const { current } = this;
    if (current === undefined) return false;
    if (!current.isComplete || !current.isAnswered || this.output.length > 0) return false;
    this.current = undefined;
    this.sinceMs = performance.now();
    return true;
  }

  /** Closes the connection once everything is sent. */
  private end(): void {
    this.isEnding = true;
    this.endsWhenSent = true;
    if (this.output.length === 0 && !this.isClosed) this.socket.end();
  }

  /** Reads nothing while further requests or a body must wait. Their bytes are bounded by one read of the socket. */
  private checkReading(): void {
    if (this.isClosed || this.endsWhenSent) return;
    const isBusy = this.current?.isComplete === true && !this.isEnding;
    if (isBusy && this.input.length > this.owner.bounds.advanceBytes) {
      this.owner.onAdvance(this);
      return;
    }
    const mustPause = this.isHeld || this.waitsForTurn || (isBusy && this.input.length > 0);
    if (mustPause === this.isPaused) return;
    this.isPaused = mustPause;
    if (mustPause) this.socket.pause();
    else this.socket.resume();
  }

  private reportWork(): void {
    if (this.isWorking === this.wasWorking) return;
    this.wasWorking = !this.wasWorking;
    this.owner.workChanged(this);
  }
}

import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { PushRefusal } from '../../../push/refusal.ts';
import { addressKey } from '../../../runtime/ip-address.ts';
import type { Client } from '../call.ts';

/** A request whose body is still arriving. */
export interface ReceivingRequest {
  /** The parser cannot read on: refuses the request, as the rest of its body will not arrive. */
  stopReceiving(refusal: PushRefusal): void;
  /** The connection is closed. */
  connectionClosed(): void;
}

/** The server that a connection belongs to. */
export interface ConnectionOwner {
  /** Whether each connection closes with its next answer. */
  readonly isClosing: boolean;
  /** Called when `isWorking` of the connection has changed. */
  workChanged(connection: Connection): void;
}

/** One connection, and how many of its requests have no answer yet. */
export class Connection {
  /** The other end of the TCP connection; possibly a proxy. */
  readonly peer: Client;
  /** Whether it has sent a request. */
  isUsed = false;
  isClosed = false;
  private readonly socket: Duplex;
  private readonly owner: ConnectionOwner;
  private incoming: ReceivingRequest | undefined;
  private unanswered = 0;
  private wasWorking = false;
  private isEnding = false;
  private isCutOff = false;
  private lastAnswer: string | undefined;

  constructor(socket: Duplex, owner: ConnectionOwner) {
    this.socket = socket;
    this.owner = owner;
    const address = (socket instanceof Socket ? socket.remoteAddress : undefined) ?? '';
    this.peer = { address, addressKey: addressKey(address) };
    socket.once('close', () => {
      this.isClosed = true;
      this.incoming?.connectionClosed();
    });
  }

  /** The last request, until its body is complete. */
  get receiving(): ReceivingRequest | undefined {
    return this.incoming;
  }

  set receiving(request: ReceivingRequest | undefined) {
    this.incoming = request;
    this.reportWork();
  }

  /** Whether the connection closes with its next answer. */
  get isClosing(): boolean {
    return this.owner.isClosing;
  }

  /** Whether a complete request is being answered. Otherwise, closing the connection only costs its client time. */
  get isWorking(): boolean {
    return this.unanswered > (this.incoming === undefined ? 0 : 1);
  }

  /** Whether another request must be answered before the newest one. */
  get hasEarlier(): boolean {
    return this.unanswered > 1;
  }

  /** Whether the socket is still writable. */
  get isWritable(): boolean {
    return this.socket.writable;
  }

  /** Counts a request that begins. Returns how many have no answer yet, or an answer that was not read. */
  begin(receiving: ReceivingRequest | undefined): number {
    this.isUsed = true;
    this.unanswered++;
    this.receiving = receiving;
    return this.unanswered;
  }

  /** Counts a finished request. */
  finish(): void {
    this.unanswered--;
    this.reportWork();
    if (this.unanswered === 0 && this.lastAnswer !== undefined) this.socket.end(this.lastAnswer);
  }

  /**
   * Sends a final answer to a malformed request, and closes the connection. Earlier requests are answered first.
   * Returns `false` if the connection is already closing.
   */
  endWith(answer: string, lingerMs: number): boolean {
    if (this.isEnding) return false;
    this.isEnding = true;
    if (this.unanswered > 0) {
      this.lastAnswer = answer;
    } else if (lingerMs === 0) {
      this.socket.end(answer);
    } else {
      // The client may still be sending. If we closed now, the system would discard the answer.
      this.socket.write(answer);
      const timer = setTimeout(() => this.socket.destroy(), lingerMs);
      this.socket.once('close', () => clearTimeout(timer));
    }
    return true;
  }

  /** Ends the connection at once. Returns `false` if it was cut off before, so that only one reason is logged. */
  cutOff(): boolean {
    if (this.isCutOff) return false;
    this.isCutOff = true;
    this.socket.destroy();
    return true;
  }

  /** Ends the connection at once. */
  destroy(): void {
    this.socket.destroy();
  }

  private reportWork(): void {
    if (this.isWorking === this.wasWorking) return;
    this.wasWorking = !this.wasWorking;
    this.owner.workChanged(this);
  }
}

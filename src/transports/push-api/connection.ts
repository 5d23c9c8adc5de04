import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Refusal } from '../../push/refusal.ts';

/** A request whose body is still on its way. */
export interface Receiving {
  /** No more of it will come, since the parser cannot read on. */
  breakOff(refusal: Refusal): void;
  /** The connection is gone. */
  abandon(): void;
}

/** What has to be known of one connection besides its requests. */
export class Connection {
  /** The last request, until its body is complete. */
  receiving: Receiving | undefined;
  private readonly socket: Duplex;
  private readonly door: { readonly closing: boolean };
  /** Whether it has asked for anything. */
  used = false;
  private unanswered = 0;
  private faulty = false;
  private isCutOff = false;
  private lastAnswer: string | undefined;

  constructor(socket: Duplex, door: { readonly closing: boolean }) {
    this.socket = socket;
    this.door = door;
    socket.once('close', () => this.receiving?.abandon());
  }

  /** Of the other end, as far as the system knows it. */
  get address(): string | undefined {
    return this.socket instanceof Socket ? this.socket.remoteAddress : undefined;
  }

  /** Whether the next answer is the last one. */
  get closing(): boolean {
    return this.door.closing;
  }

  /** Counts a request that begins. Gives how many have no answer yet, or one that was not taken. */
  begin(): number {
    this.used = true;
    this.unanswered++;
    return this.unanswered;
  }

  /** Counts a request that is over. */
  finish(): void {
    this.unanswered--;
    if (this.unanswered === 0 && this.lastAnswer !== undefined) this.socket.end(this.lastAnswer);
  }

  /**
   * Ends the connection with a last answer, to a request that cannot be read; those before it get theirs first.
   * Gives `false` where it is being ended already.
   */
  endWith(answer: string, lingerMs: number): boolean {
    if (this.faulty) return false;
    this.faulty = true;
    if (this.unanswered > 0) {
      this.lastAnswer = answer;
    } else if (lingerMs === 0) {
      this.socket.end(answer);
    } else {
      // Its sender may still be sending. Closed now, the system would take the answer back.
      this.socket.write(answer);
      const timer = setTimeout(() => this.socket.destroy(), lingerMs);
      this.socket.once('close', () => clearTimeout(timer));
    }
    return true;
  }

  /** Ends the connection at once. `false` where that was done before: it has many requests, and one reason is enough. */
  cutOff(): boolean {
    if (this.isCutOff) return false;
    this.isCutOff = true;
    this.socket.destroy();
    return true;
  }

  /** Whether anything can be said on it. */
  get writable(): boolean {
    return this.socket.writable;
  }

  /** Ends the connection at once. */
  destroy(): void {
    this.socket.destroy();
  }
}

import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { PushRefusal } from '../../../push/refusal.ts';
import { addressKey } from '../../../runtime/ip-address.ts';

/** A request whose body is still on its way. */
export interface Receiving {
  /** No more of it will come, since the parser cannot read on. */
  breakOff(refusal: PushRefusal): void;
  /** The connection is gone. */
  abandon(): void;
}

/** What a connection belongs to. */
export interface ConnectionOwner {
  /** Whether the next answer is the last one. */
  readonly closing: boolean;
  /** A whole request is being answered now, or none is any more. */
  worksNow(connection: Connection): void;
}

/** What has to be known of one connection besides its requests. */
export class Connection {
  /** Of the other end, as far as the system knows it; a proxy, perhaps. */
  readonly peer: string;
  /** What limits by address count it under. */
  readonly peerKey: string;
  /** Whether it has asked for anything. */
  used = false;
  isClosed = false;
  private readonly socket: Duplex;
  private readonly owner: ConnectionOwner;
  private incoming: Receiving | undefined;
  private unanswered = 0;
  private worked = false;
  private faulty = false;
  private isCutOff = false;
  private lastAnswer: string | undefined;

  constructor(socket: Duplex, owner: ConnectionOwner) {
    this.socket = socket;
    this.owner = owner;
    this.peer = (socket instanceof Socket ? socket.remoteAddress : undefined) ?? '';
    this.peerKey = addressKey(this.peer);
    socket.once('close', () => {
      this.isClosed = true;
      this.incoming?.abandon();
    });
  }

  /** The last request, until its body is complete. */
  get receiving(): Receiving | undefined {
    return this.incoming;
  }

  set receiving(request: Receiving | undefined) {
    this.incoming = request;
    this.look();
  }

  /** Whether the next answer is the last one. */
  get closing(): boolean {
    return this.owner.closing;
  }

  /** Whether a whole request of it is being answered: without one, nothing is lost with the connection but time. */
  get isWorking(): boolean {
    return this.unanswered > (this.incoming === undefined ? 0 : 1);
  }

  /** Whether a request is to be answered before the last one that came. */
  get hasEarlier(): boolean {
    return this.unanswered > 1;
  }

  /** Counts a request that begins. Gives how many have no answer yet, or one that was not taken. */
  begin(receiving: Receiving | undefined): number {
    this.used = true;
    this.unanswered++;
    this.receiving = receiving;
    return this.unanswered;
  }

  /** Counts a request that is over. */
  finish(): void {
    this.unanswered--;
    this.look();
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

  private look(): void {
    if (this.isWorking === this.worked) return;
    this.worked = !this.worked;
    this.owner.worksNow(this);
  }
}

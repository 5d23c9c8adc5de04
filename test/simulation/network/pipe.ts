import type { Context } from '../kernel/context.ts';
import type { Kernel } from '../kernel/kernel.ts';

/** What the kernel takes of what a program sends, before the program must keep it. Bytes. */
const KERNEL_BYTES = 8_192;

/** How long writes are on their way, and what makes them late. Changed by a world while it runs. */
export interface Delays {
  /** Every write takes at least this. Milliseconds. */
  leastMs: number;
  /** Most take up to this more, and few much more. */
  spreadMs: number;
  /** How many of all writes come late by up to `stallMs`, with all behind them. */
  stallChance: number;
  stallMs: number;
}

/** One direction of a connection. What is sent arrives in order; what one event sends is one write, and arrives together. */
export class Pipe {
  /** What is sent from now on never arrives, and nobody notices. */
  isSilent = false;
  /** Nothing arrives any more. */
  isCut = false;
  /** What the reader takes. Bytes per millisecond. */
  bytesPerMs = Number.POSITIVE_INFINITY;
  private readonly kernel: Kernel;
  private readonly to: Context;
  private readonly delays: Delays;
  private arrivesAtMs = 0;
  /** When the reader will have taken everything. */
  private takenAtMs = 0;
  private event = -1;
  /** What was sent and never arrives. */
  private lostBytes = 0;

  constructor(kernel: Kernel, to: Context, delays: Delays) {
    this.kernel = kernel;
    this.to = to;
    this.delays = delays;
  }

  /** What the reader has not taken, beyond what the kernel keeps. Bytes. */
  get waitingBytes(): number {
    const behindMs = this.takenAtMs - this.kernel.nowMs;
    const slow = this.bytesPerMs === Number.POSITIVE_INFINITY ? 0 : behindMs * this.bytesPerMs;
    return Math.max(0, Math.floor(slow + this.lostBytes - KERNEL_BYTES));
  }

  /** Calls `arrive` at the other end, unless the connection breaks before. */
  send(bytes: number, arrive: () => void): void {
    if (this.isSilent) {
      this.lostBytes += bytes;
      return;
    }
    const { kernel } = this;
    if (this.event !== kernel.eventNumber) {
      this.event = kernel.eventNumber;
      this.arrivesAtMs = Math.max(this.arrivesAtMs, kernel.nowMs + delayOf(kernel, this.delays));
    }
    if (this.bytesPerMs !== Number.POSITIVE_INFINITY) {
      this.takenAtMs = Math.max(this.takenAtMs, kernel.nowMs) + bytes / this.bytesPerMs;
      this.arrivesAtMs = Math.max(this.arrivesAtMs, this.takenAtMs);
    }
    const deliver = () => {
      if (!this.isCut) arrive();
    };
    kernel.after(this.arrivesAtMs - kernel.nowMs, deliver, this.to);
  }
}

/** Draws how long something is on its way. Milliseconds. */
export function delayOf({ random }: Kernel, delays: Delays): number {
  const { leastMs, spreadMs, stallChance, stallMs } = delays;
  const part = random.next();
  const usual = leastMs + spreadMs * part * part * part;
  return random.chance(stallChance) ? usual + random.next() * stallMs : usual;
}

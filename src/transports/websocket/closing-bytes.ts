import type { Timers } from '../../runtime/ports.ts';
import { SMALL_ANSWER } from '../response-body.ts';

/** How long Bun keeps a closed socket whose client does not read, rounded up. Milliseconds. */
const KEPT_MS = 5_000;

/**
 * What clients of closed WebSockets have not read. Bun keeps it for some seconds, so that they can read it with the close
 * code, but counts it no more, and cannot end such a socket.
 */
export class ClosingBytes {
  private readonly bytesMax: number;
  private readonly timers: Timers;
  private bytes = 0;

  constructor(bytesMax: number, timers: Timers) {
    this.bytesMax = bytesMax;
    this.timers = timers;
  }

  /** Whether a socket with so many waiting bytes may be closed. Otherwise it must be terminated. */
  mayKeep(bytes: number): boolean {
    if (bytes <= SMALL_ANSWER) return true;
    if (this.bytes + bytes > this.bytesMax) return false;
    this.bytes += bytes;
    this.timers.after(KEPT_MS, () => {
      this.bytes -= bytes;
    });
    return true;
  }
}

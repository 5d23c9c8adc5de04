import type { AppAddress } from '../../bench-app.ts';
import { clientMessage } from '../../load/frames.ts';
import { Histogram } from '../../load/histogram.ts';
import type { KernelSockets } from '../../load/kernel-sockets.ts';
import { RawWebSocket } from '../../load/raw-web-socket.ts';

const INTERVAL_MS = 5;
/** In place of the time of one that was counted before its answer came. */
const COUNTED = -1;
const PING = clientMessage({ event: 'pusher:ping', data: {} });

/**
 * A client that asks for a pong every 5 ms, whether or not the ones before have come. Each of its frames waits for the
 * event loop of the server, and so shows how long any other client would wait.
 */
export class LoopProbe extends RawWebSocket {
  private isReady = false;
  private nextMs = 0;
  /** When those that have no answer yet were due, oldest first. */
  private due: number[] = [];
  private answered = 0;
  private delays = new Histogram();

  constructor(sockets: KernelSockets, app: AppAddress) {
    super(sockets, app, { goes: 'first' });
  }

  /** The 99th percentile since the last call, in milliseconds. Those without an answer count with the time until now. */
  takeP99Ms(): number {
    const delays = this.delays;
    this.delays = new Histogram();
    const nowMs = performance.now();
    for (let at = this.answered; at < this.due.length; at += 1) {
      const dueMs = this.due[at] ?? COUNTED;
      if (dueMs === COUNTED) continue;
      delays.record(nowMs - dueMs);
      this.due[at] = COUNTED;
    }
    return delays.quantileMs(0.99);
  }

  /** Sends what is due. Call it often. */
  tick(nowMs: number): void {
    if (!this.isReady || nowMs < this.nextMs) return;
    // What this process itself was late with is not the server's.
    this.nextMs = nowMs + INTERVAL_MS;
    this.due.push(nowMs);
    this.send(PING);
  }

  protected readText(bytes: Buffer, start: number, end: number): void {
    const text = bytes.toString('latin1', start, end);
    if (text.includes('"pusher:connection_established"')) this.isReady = true;
    if (!text.includes('"pusher:pong"')) return;
    const dueMs = this.due[this.answered];
    if (dueMs === undefined) return;
    if (dueMs !== COUNTED) this.delays.record(performance.now() - dueMs);
    this.answered += 1;
    if (this.answered < this.due.length) return;
    this.due = [];
    this.answered = 0;
  }

  protected lost(why: string): void {
    throw new Error(`the probe was disconnected: ${why}`);
  }
}

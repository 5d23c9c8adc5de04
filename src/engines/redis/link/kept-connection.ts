import type { Timers } from '../../../runtime/ports.ts';
import { doubledMs } from '../../../runtime/time/back-off.ts';
import type { RedisConnection } from './connection.ts';
import { RedisAway } from './reply.ts';

export interface KeptConnectionOptions {
  readonly timers: Timers;
  /** Opens a connection that calls `onEnd` when it ends. */
  readonly connect: (onEnd: (why: string) => void) => Promise<RedisConnection>;
  readonly onUp: (connection: RedisConnection) => void;
  readonly onDown: (why: string) => void;
  /** Called when an attempt has failed; another one follows. */
  readonly onFailed: (error: unknown) => void;
}

/** After an outage of Redis, servers must work again within 5 s, so the longest pause is short. */
const PAUSE_MIN_MS = 50;
const PAUSE_MAX_MS = 1_000;
/** A connection that closes sooner counts as a failed attempt. */
const STEADY_MS = 5_000;

/** Keeps one connection open. Opens another one when it closes, with growing pauses between failed attempts. */
export class KeptConnection {
  private readonly options: KeptConnectionOptions;
  private connection: RedisConnection | undefined;
  private failures = 0;
  private isClosed = false;
  private stopTimer: (() => void) | undefined;

  constructor(options: KeptConnectionOptions) {
    this.options = options;
  }

  /** Opens the first connection. Must be called once. Never rejects. */
  async start(): Promise<void> {
    const { connect, onUp, onDown, onFailed, timers } = this.options;
    let upAtMs = timers.now();
    let endedWhy: string | undefined;
    const onEnd = (why: string) => {
      endedWhy = why;
      if (this.connection === undefined) return;
      this.connection = undefined;
      if (timers.now() - upAtMs >= STEADY_MS) this.failures = 0;
      onDown(why);
      this.startLater();
    };
    let connection: RedisConnection;
    try {
      connection = await connect(onEnd);
      if (endedWhy !== undefined) throw new RedisAway(endedWhy, false);
    } catch (error) {
      if (this.isClosed) return;
      onFailed(error);
      return this.startLater();
    }
    if (this.isClosed) return connection.end('the server is stopping');
    upAtMs = timers.now();
    this.connection = connection;
    onUp(connection);
  }

  /** Closes the connection, and opens another one. */
  replace(why: string): void {
    this.connection?.end(why);
  }

  close(): void {
    this.isClosed = true;
    this.stopTimer?.();
    this.connection?.end('the server is stopping');
  }

  private startLater(): void {
    if (this.isClosed) return;
    const pauseMs = doubledMs(PAUSE_MIN_MS, { times: this.failures, maxMs: PAUSE_MAX_MS });
    this.failures += 1;
    // Jitter, so that nodes that lost Redis at the same moment do not all return at the same moment.
    const jitter = 0.5 + Math.random() / 2;
    this.stopTimer = this.options.timers.after(pauseMs * jitter, () => void this.start());
  }
}

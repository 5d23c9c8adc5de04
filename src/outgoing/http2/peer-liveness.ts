import type { Exchange } from './exchange.ts';

export interface LivenessOptions {
  /** Silence while an answer is due, after which the peer is pinged and gets no more requests. */
  readonly overduePingMs: number;
}

/** Silence without requests in flight, after which the peer is pinged. */
const IDLE_PING_MS = 60_000;

/** A connection is closed after this silence following a ping. */
const PING_TIMEOUT_MS = 5_000;

/** Requests in a row without an answer in time, after which the connection gets no more. */
const UNANSWERED_MAX = 3;

/** When a peer last sent something, and whether it still answers. */
export class PeerLiveness {
  heardAtMs: number;
  private readonly options: LivenessOptions;
  private pingedAtMs: number | undefined;
  private answeredAtMs = Number.NEGATIVE_INFINITY;
  private unansweredInRow = 0;

  constructor(options: LivenessOptions, nowMs: number) {
    this.options = options;
    this.heardAtMs = nowMs;
  }

  /** Too many consecutive requests got no answer. */
  get isUnresponsive(): boolean {
    return this.unansweredInRow >= UNANSWERED_MAX;
  }

  onBytes(nowMs: number): void {
    this.heardAtMs = nowMs;
    this.pingedAtMs = undefined;
  }

  onAnswer(): void {
    this.unansweredInRow = 0;
    this.answeredAtMs = this.heardAtMs;
  }

  /** A request timed out. Returns whether others were answered since it was sent. */
  onUnanswered(exchange: Exchange): boolean {
    this.unansweredInRow++;
    return this.answeredAtMs > exchange.sentAtMs;
  }

  /** Whether the answer to a request is overdue. */
  isOverdue(exchange: Exchange | undefined, nowMs: number): boolean {
    return (
      exchange !== undefined &&
      nowMs - Math.max(this.answeredAtMs, exchange.sentAtMs) >= this.options.overduePingMs
    );
  }

  /** Whether to ping a silent peer now, or to consider it dead. `oldest` is the oldest request in flight. */
  check(oldest: Exchange | undefined, nowMs: number): 'ping' | 'gone' | undefined {
    if (this.pingedAtMs !== undefined) {
      return nowMs - this.pingedAtMs < PING_TIMEOUT_MS ? undefined : 'gone';
    }
    const silentMs = nowMs - Math.max(this.heardAtMs, oldest?.sentAtMs ?? 0);
    const pingMs = oldest === undefined ? IDLE_PING_MS : this.options.overduePingMs;
    if (silentMs < pingMs) return undefined;
    this.pingedAtMs = nowMs;
    return 'ping';
  }
}

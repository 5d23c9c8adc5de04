import { type Sender, SenderQueue } from '../../runtime/fairness/sender-queue.ts';
import type { Timers } from '../../runtime/ports.ts';
import { TokenBucket } from '../../runtime/rates/token-bucket.ts';

export interface ProjectRateOptions {
  readonly timers: Timers;
  /** The quota that Google has granted to the project. */
  readonly perMinute?: number;
}

/** Default quota. Source: push protocol, §8.2, "Quotas". */
const PER_MINUTE = 600_000;

/** Least time for the ramp from the lowest rate to the quota. Source: the same. */
const RAMP_MS = 60_000;

/** Messages that may leave at once after a pause, so that a small publish does not wait. */
const BURST = 1_000;

/** The rate at which the ramp begins, as a share of the quota. */
const LOWEST_SHARE = 0.1;

/** Longest wait at the lowest rate. Together with the request it is shorter than the lease of a delivery. */
const WAIT_MS_MAX = 15_000;

/** Least time between two releases of waiting messages. */
const ROUND_MS = 10;

/** Google reports one overload in many answers, so the rate is halved once in this time. */
const SLOW_DOWN_MS = 1_000;

/**
 * Limits the rate at which one project sends: a token bucket with a rate that adapts. It never exceeds the project's
 * quota in any minute. It starts slowly, rises while messages wait, falls at the same speed while none do, and halves
 * when Google reports an overload. Backing off is the caller's job.
 */
export class ProjectRate {
  private readonly timers: Timers;
  private readonly bucket: TokenBucket;
  /** What the bucket is refilled with now. */
  private readonly rate: { perSecond: number; readonly burst: number };
  private readonly highest: number;
  private readonly lowest: number;
  private adaptedAtMs: number;
  private slowedAtMs = Number.NEGATIVE_INFINITY;
  private readonly waiting = new SenderQueue<() => void>();
  private isRoundPlanned = false;

  constructor({ timers, perMinute = PER_MINUTE }: ProjectRateOptions) {
    this.timers = timers;
    const burst = Math.min(BURST, perMinute / 2);
    // The burst and what follows within a minute make up the quota together.
    this.highest = (perMinute - burst) / 60;
    this.lowest = this.highest * LOWEST_SHARE;
    this.rate = { perSecond: this.lowest, burst };
    this.adaptedAtMs = timers.now();
    this.bucket = new TokenBucket(this.rate, this.adaptedAtMs);
  }

  /** Whether another message might wait too long: several instances may send to the project at once. */
  get isFull(): boolean {
    return this.waiting.size >= (this.lowest * WAIT_MS_MAX) / 1000;
  }

  /** Settles when the next message may leave; `undefined`: now. Senders take turns. */
  take(sender: Sender): Promise<void> | undefined {
    const nowMs = this.adapt();
    if (this.waiting.size === 0 && this.bucket.take(this.rate, nowMs)) return undefined;
    this.planRound(nowMs);
    return new Promise((resolve) => {
      this.waiting.add(resolve, sender);
    });
  }

  /** Google reports an overload: someone else sends as well, or the quota is smaller. */
  slowDown(): void {
    const nowMs = this.adapt();
    if (nowMs - this.slowedAtMs < SLOW_DOWN_MS) return;
    this.slowedAtMs = nowMs;
    this.bucket.charge(Math.max(0, this.bucket.left(this.rate, nowMs)));
    this.rate.perSecond = Math.max(this.lowest, this.rate.perSecond / 2);
  }

  /** Adapts the rate to the time that has passed, and refills the bucket. */
  private adapt(): number {
    const nowMs = this.timers.now();
    const passedMs = nowMs - this.adaptedAtMs;
    this.adaptedAtMs = nowMs;
    const step = ((this.highest - this.lowest) * passedMs) / RAMP_MS;
    const perSecond = this.rate.perSecond + (this.waiting.size > 0 ? step : -step);
    this.rate.perSecond = Math.min(this.highest, Math.max(this.lowest, perSecond));
    // Now, because the rate may have changed by the next time.
    this.bucket.left(this.rate, nowMs);
    return nowMs;
  }

  private planRound(nowMs: number): void {
    if (this.isRoundPlanned) return;
    this.isRoundPlanned = true;
    const missing = 1 - this.bucket.left(this.rate, nowMs);
    this.timers.after(Math.max(ROUND_MS, (missing * 1000) / this.rate.perSecond), () => {
      this.isRoundPlanned = false;
      this.runRound();
    });
  }

  /** Releases as many waiting messages as the bucket allows. */
  private runRound(): void {
    const nowMs = this.adapt();
    const released: (() => void)[] = [];
    while (this.waiting.size > 0 && this.bucket.take(this.rate, nowMs)) {
      const release = this.waiting.take();
      if (release !== undefined) released.push(release);
    }
    if (this.waiting.size > 0) this.planRound(nowMs);
    for (const release of released) release();
  }
}

/** The rates of a server: one for each project, whichever instances send to it. */
export class ProjectRates {
  private readonly rates = new Map<string, ProjectRate>();
  private readonly options: ProjectRateOptions;

  constructor(options: ProjectRateOptions) {
    this.options = options;
  }

  of(projectId: string): ProjectRate {
    const known = this.rates.get(projectId);
    if (known !== undefined) return known;
    const rate = new ProjectRate(this.options);
    this.rates.set(projectId, rate);
    return rate;
  }
}

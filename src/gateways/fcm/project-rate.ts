import type { Timers } from '../../runtime/ports.ts';
import { type Sender, SenderQueue } from '../../runtime/sender-queue.ts';

export interface ProjectRateOptions {
  readonly timers: Timers;
  /** What Google takes of one project in a minute, unless it has agreed to more. */
  readonly perMinute?: number;
}

/** Source: push protocol, §8.2, "Quotas". */
const PER_MINUTE = 600_000;

/** How long it takes at least from hardly anything to all that is allowed. Source: the same. */
const RAMP_MS = 60_000;

/** Messages that may go out at once after a pause. So a small publish waits for nothing. */
const BURST = 1_000;

/** At which pace the ramp begins, as a part of the quota. */
const FLOOR = 0.1;

/** The longest that anybody waits at the slowest pace: with its request, still less than a claim on it lasts. */
const WAIT_MS_MAX = 15_000;

/** The least time between two looks at who may go. */
const TURN_MS = 10;

/** That Google has had too much is said by many answers at once. */
const SLOW_DOWN_MS = 1_000;

/**
 * The pace at which one project sends, and the only thing that decides on it. It never lets more through in any
 * minute than Google allows, and begins slowly: it rises while somebody waits for it, falls again at the same rate
 * while nobody does, and halves when Google has had too much. That it then is left alone for a while is for the one
 * who sends to see to.
 */
export class ProjectRate {
  private readonly timers: Timers;
  /** Messages per millisecond. */
  private readonly most: number;
  private readonly least: number;
  private readonly burst: number;
  private rate: number;
  private allowance: number;
  private lookedAtMs: number;
  private slowedAtMs = Number.NEGATIVE_INFINITY;
  private readonly waiting = new SenderQueue<() => void>();
  private isTurnPlanned = false;

  constructor({ timers, perMinute = PER_MINUTE }: ProjectRateOptions) {
    this.timers = timers;
    this.burst = Math.min(BURST, perMinute / 2);
    // What goes at once and what follows within a minute is the quota together.
    this.most = (perMinute - this.burst) / 60_000;
    this.least = this.most * FLOOR;
    this.rate = this.least;
    this.allowance = this.burst;
    this.lookedAtMs = timers.now();
  }

  /** Whether so many wait that one more might wait too long: several instances send to the project at once. */
  get isFull(): boolean {
    return this.waiting.size >= this.least * WAIT_MS_MAX;
  }

  /** Settles when the next message may go; `undefined`: now. Senders take turns. */
  take(sender: Sender): Promise<void> | undefined {
    this.look();
    if (this.waiting.size === 0 && this.allowance >= 1) {
      this.allowance--;
      return undefined;
    }
    this.planTurn();
    return new Promise((resolve) => {
      this.waiting.add(resolve, sender);
    });
  }

  /** Google has had too much: somebody else sends as well, or the quota is smaller. */
  slowDown(): void {
    this.look();
    if (this.lookedAtMs - this.slowedAtMs < SLOW_DOWN_MS) return;
    this.slowedAtMs = this.lookedAtMs;
    this.rate = Math.max(this.least, this.rate / 2);
    this.allowance = Math.min(this.allowance, 0);
  }

  /** Counts the time that has passed. */
  private look(): void {
    const nowMs = this.timers.now();
    const passedMs = nowMs - this.lookedAtMs;
    this.lookedAtMs = nowMs;
    const stepped = ((this.most - this.least) * passedMs) / RAMP_MS;
    const rate = this.rate + (this.waiting.size > 0 ? stepped : -stepped);
    this.rate = Math.min(this.most, Math.max(this.least, rate));
    this.allowance = Math.min(this.burst, this.allowance + this.rate * passedMs);
  }

  private planTurn(): void {
    if (this.isTurnPlanned) return;
    this.isTurnPlanned = true;
    const delayMs = Math.max(TURN_MS, (1 - this.allowance) / this.rate);
    this.timers.after(delayMs, () => {
      this.isTurnPlanned = false;
      this.turn();
    });
  }

  private turn(): void {
    this.look();
    const next: (() => void)[] = [];
    for (; this.allowance >= 1 && this.waiting.size > 0; this.allowance--) {
      const go = this.waiting.take();
      if (go !== undefined) next.push(go);
    }
    if (this.waiting.size > 0) this.planTurn();
    for (const go of next) go();
  }
}

/** The paces of a server: one for each project, whichever instances send to it. */
export class ProjectRates {
  private readonly paces = new Map<string, ProjectRate>();
  private readonly options: ProjectRateOptions;

  constructor(options: ProjectRateOptions) {
    this.options = options;
  }

  of(projectId: string): ProjectRate {
    const known = this.paces.get(projectId);
    if (known !== undefined) return known;
    const pace = new ProjectRate(this.options);
    this.paces.set(projectId, pace);
    return pace;
  }
}

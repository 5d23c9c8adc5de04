import { LATER_MS_MAX, SLOW_MS, TURN_MS_MAX } from '../limits.ts';
import type { CircuitBreaker } from './circuit-breaker.ts';
import { isWithin } from './is-within.ts';
import { type Owned, RoundRobin } from './round-robin.ts';

/** Devices that could not wait in memory come back at the measured speed of outcomes, and at least this fast. */
const RETURNS_PER_SECOND_MIN = 10;

/**
 * The same while the circuit is open. When the gateway works again, all devices may return at once; devices that wait
 * for a credential are brought forward as soon as it is accepted.
 */
const RETURNS_PER_SECOND_MIN_OPEN = { gateway: 100, credential: 1 } as const;
const RETURN_MS_MIN = 1_000;

/** Weight of the last second in the measured speed. */
const NEWEST_SHARE = 0.3;

/** The devices that wait on one route, in slices that take turns, and the measured speed of their outcomes. */
export class DeviceQueue<Item extends Owned> {
  readonly slices = new RoundRobin<Item>();
  /** Sends in flight. */
  inFlight = 0;
  /** Waiting devices that were not sent to yet. */
  untried = 0;
  /** Outcomes since the last measurement. */
  outcomes = 0;
  private readonly random: () => number;
  private waiting = 0;
  /** Since when the queue is not empty. */
  private busySinceMs = 0;
  private perSecond = 0;
  private slowSinceMs = Number.NEGATIVE_INFINITY;
  private lastReturnMs = 0;

  constructor(random: () => number) {
    this.random = random;
  }

  get isEmpty(): boolean {
    return this.slices.isEmpty;
  }

  /** Whether devices wait too long for others to wait for them. */
  isSlow(nowMs: number, waitingSinceMs: number): boolean {
    return isWithin(SLOW_MS, this.slowSinceMs, nowMs) || nowMs - waitingSinceMs > TURN_MS_MAX;
  }

  /** Counts devices that begin to wait. */
  add(devices: number, nowMs: number): void {
    if (this.waiting === 0) this.busySinceMs = nowMs;
    this.waiting += devices;
  }

  /** Counts devices that no longer wait. */
  remove(devices: number): void {
    this.waiting -= devices;
  }

  /** Whether more devices wait than can be sent to within a time, at the measured speed. */
  isJammed(withinMs: number, nowMs: number): boolean {
    // The clock was set back.
    if (nowMs < this.busySinceMs) this.busySinceMs = nowMs;
    if (this.waiting === 0 || !this.isSlow(nowMs, this.busySinceMs)) return false;
    return this.waiting > (this.perSecond * withinMs) / 1000;
  }

  /**
   * When a device should return that cannot wait in memory: one after the other, at the measured speed. Each is a row
   * in the store meanwhile, so it should not return too early.
   */
  returnMs(nowMs: number, circuit: CircuitBreaker): number {
    const { fault } = circuit;
    if (fault === undefined) this.slowSinceMs = nowMs;
    // It can only be this far ahead if the clock was set back.
    if (this.lastReturnMs > nowMs + LATER_MS_MAX) this.lastReturnMs = 0;
    const returnsPerSecond =
      fault === undefined
        ? Math.max(RETURNS_PER_SECOND_MIN, this.perSecond)
        : RETURNS_PER_SECOND_MIN_OPEN[fault.why];
    const earliestMs = nowMs + Math.max(RETURN_MS_MIN, circuit.awayMs(nowMs));
    this.lastReturnMs = Math.max(earliestMs, this.lastReturnMs + 1000 / returnsPerSecond);
    if (this.lastReturnMs <= nowMs + LATER_MS_MAX) return Math.ceil(this.lastReturnMs);
    this.lastReturnMs = nowMs + LATER_MS_MAX;
    return Math.ceil(earliestMs + this.random() * LATER_MS_MAX);
  }

  /** Measures how fast outcomes come. To be called about once a second. */
  measure(passedMs: number): void {
    const latelyPerSecond = (this.outcomes * 1000) / Math.max(1, passedMs);
    this.perSecond += (latelyPerSecond - this.perSecond) * NEWEST_SHARE;
    this.outcomes = 0;
  }
}

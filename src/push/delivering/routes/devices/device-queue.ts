import { CHECK_MS, LATER_MS_MAX, SLOW_MS, TURN_MS_MAX } from '../../limits.ts';
import type { CircuitBreaker } from '../circuit/circuit-breaker.ts';
import { type Owned, RoundRobin } from '../round-robin.ts';

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

/**
 * The waiting devices of one route, in slices that take turns, and the measured rate of their outcomes. Times are
 * those of the steady clock.
 */
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

  /** Whether devices wait so long that others should not wait for them. */
  isSlow(nowMs: number, waitingSinceMs: number): boolean {
    return nowMs - this.slowSinceMs < SLOW_MS || nowMs - waitingSinceMs > TURN_MS_MAX;
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
    if (this.waiting === 0 || !this.isSlow(nowMs, this.busySinceMs)) return false;
    return this.waiting > (this.perSecond * withinMs) / 1000;
  }

  /**
   * When a device should return that cannot wait in memory: one after the other, at the measured rate. Each takes a
   * row in the store until then, so it should not return too early.
   */
  returnAfterMs(nowMs: number, circuit: CircuitBreaker): number {
    const { fault } = circuit;
    if (fault === undefined) this.slowSinceMs = nowMs;
    const returnsPerSecond =
      fault === undefined
        ? Math.max(RETURNS_PER_SECOND_MIN, this.perSecond)
        : RETURNS_PER_SECOND_MIN_OPEN[fault.why];
    const earliestMs = Math.max(RETURN_MS_MIN, circuit.awayMs(nowMs));
    const afterMs = Math.max(earliestMs, this.lastReturnMs + 1000 / returnsPerSecond - nowMs);
    this.lastReturnMs = nowMs + Math.min(afterMs, LATER_MS_MAX);
    if (afterMs <= LATER_MS_MAX) return Math.ceil(afterMs);
    return Math.ceil(earliestMs + this.random() * LATER_MS_MAX);
  }

  /** Measures the rate of outcomes. To be called each `CHECK_MS`. */
  measure(): void {
    const latelyPerSecond = (this.outcomes * 1000) / CHECK_MS;
    this.perSecond += (latelyPerSecond - this.perSecond) * NEWEST_SHARE;
    this.outcomes = 0;
  }
}

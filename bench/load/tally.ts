import { Histogram } from './histogram.ts';

/** When each event of a step is due, whatever the server does. Times are of `performance.now()`. */
export interface Schedule {
  readonly firstSequence: number;
  readonly events: number;
  readonly firstDueMs: number;
  readonly intervalMs: number;
  /** How many at the start are delivered and counted, but not timed. */
  readonly warmupEvents: number;
}

/** When the event with this index within the schedule is due. */
export function dueMs(schedule: Schedule, index: number): number {
  return schedule.firstDueMs + index * schedule.intervalMs;
}

/** Counts deliveries by receiver, and their latency. */
export class Tally {
  readonly latency = new Histogram();
  readonly schedule: Schedule;
  readonly #limitMs: number;
  readonly #received: Uint32Array;
  #delivered = 0;
  #overLimit = 0;

  constructor(schedule: Schedule, limitMs: number) {
    this.schedule = schedule;
    this.#limitMs = limitMs;
    this.#received = new Uint32Array(schedule.events);
  }

  /** Deliveries so far, warm-up included. */
  get delivered(): number {
    return this.#delivered;
  }

  /** Timed deliveries that took longer than the limit. */
  get overLimit(): number {
    return this.#overLimit;
  }

  arrived(sequence: number, nowMs: number): void {
    const index = sequence - this.schedule.firstSequence;
    // A straggler of an earlier step, which has counted it as missing.
    if (index < 0 || index >= this.#received.length) return;
    this.#received[index] = (this.#received[index] ?? 0) + 1;
    this.#delivered += 1;
    if (index < this.schedule.warmupEvents) return;
    const latencyMs = nowMs - dueMs(this.schedule, index);
    this.latency.record(latencyMs);
    if (latencyMs > this.#limitMs) this.#overLimit += 1;
  }

  /** Missing and duplicate deliveries of the first events, up to this number. */
  faults(events: number, copies: number): { missing: number; duplicated: number } {
    let missing = 0;
    let duplicated = 0;
    for (const received of this.#received.subarray(0, events)) {
      missing += Math.max(0, copies - received);
      duplicated += Math.max(0, received - copies);
    }
    return { missing, duplicated };
  }
}

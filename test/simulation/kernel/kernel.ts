import { drainMicrotasks } from 'bun:jsc';
import { Random } from '../../../testing/random.ts';
import { type Alarm, AlarmHeap } from './alarm-heap.ts';
import { Context } from './context.ts';

/** More events without any passing of time are an endless loop. */
const EVENTS_AT_ONCE_MAX = 1_000_000;

/**
 * Virtual time: a queue of what is to happen, and nothing else. Each event belongs to the context that scheduled it, and all promises that
 * it settles are handled before the next one.
 */
export class Kernel {
  /** For choices of the world: faults, delays. What programs of the world draw has a source of its own. */
  readonly random: Random;
  /** For `Math.random` and the like. */
  readonly programs: Random;
  /** The context of what happens outside all programs. */
  readonly world = new Context('world');
  /** The program whose event this is. */
  context = this.world;
  /** Prints a step; `undefined`: nobody reads it. */
  readonly trace: ((text: string) => void) | undefined;
  private readonly alarms = new AlarmHeap();
  private now = 0;
  private made = 0;
  private happened = 0;

  constructor(seed: number, trace?: (line: string) => void) {
    this.trace = trace && ((text) => trace(`${this.now.toFixed(3)} ${this.context.name}: ${text}`));
    this.random = new Random(seed);
    this.programs = new Random(seed ^ 0x5bd1e995);
  }

  /** Milliseconds since the beginning of the world. */
  get nowMs(): number {
    return this.now;
  }

  /** How much has happened. The same number: it is still the same event. */
  get eventNumber(): number {
    return this.happened;
  }

  /** Lets something happen later. Returns how to prevent it. What is due at the same time happens in the order of these calls. */
  after(delayMs: number, run: () => void, context = this.context): () => void {
    const alarm = this.alarm(delayMs, run, context);
    return () => {
      alarm.isCancelled = true;
    };
  }

  /** The same, for what keeps the alarm. */
  alarm(delayMs: number, run: () => void, context = this.context): Alarm {
    this.made += 1;
    const atMs = this.now + Math.max(0, delayMs);
    const alarm: Alarm = { atMs, order: this.made, run, context, isCancelled: false };
    this.alarms.put(alarm);
    return alarm;
  }

  /** Lets time pass up to a moment. Not to be called by what happens in it. */
  runUntil(endMs: number): void {
    let atOnce = 0;
    drainMicrotasks();
    for (;;) {
      const next = this.alarms.first;
      if (next === undefined || next.atMs > endMs) break;
      this.alarms.takeFirst();
      const { context } = next;
      if (next.isCancelled || context.isDead) continue;
      if (context.pausedUntilMs > next.atMs) {
        // Keeps its place among what the context has waiting.
        next.atMs = context.pausedUntilMs;
        this.alarms.put(next);
        continue;
      }
      atOnce = next.atMs > this.now ? 0 : atOnce + 1;
      if (atOnce > EVENTS_AT_ONCE_MAX) throw new Error(`${context.name} never comes to rest`);
      this.now = next.atMs;
      this.happened += 1;
      this.context = context;
      next.run();
      drainMicrotasks();
      if (context.eventMs > 0) {
        context.pausedUntilMs = Math.max(context.pausedUntilMs, this.now + context.eventMs);
      }
      this.context = this.world;
    }
    this.now = Math.max(this.now, endMs);
  }
}

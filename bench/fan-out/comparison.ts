import type { StepResult } from '../load/open-loop.ts';
import type { CpuUsage } from '../machine/cpu-usage.ts';
import type { FanOut } from './fan-outs.ts';

/** How thoroughly to measure. */
export interface Effort {
  readonly runs: number;
  /** The timed part of one step. */
  readonly stepSeconds: number;
  /** See `Search`. */
  readonly factorMin: number;
  readonly turns: number;
}

/** One step of a search, and whether everything was delivered once and in time. */
export interface TriedStep {
  readonly result: StepResult;
  readonly cpu: CpuUsage | undefined;
  readonly isHeld: boolean;
}

/** Where one run of one server ended. */
export interface FanOutFigure {
  readonly deliveriesPerSecond: number;
  /** Publishes per second, or another rate of events; 0 if not even 1 was sustained. */
  readonly publishesPerSecond: number;
  /** Of the sustained steps, the one with the rate closest to that; `undefined` if there is none. */
  readonly best: TriedStep | undefined;
  /** Failed steps that were repeated because other processes used the machine. */
  readonly repeated: number;
  /** Disturbed steps that counted nevertheless, because enough had been repeated. */
  readonly disturbed: number;
}

/** All runs of one server. */
export interface Measured {
  readonly server: string;
  readonly runs: readonly FanOutFigure[];
}

/** One fan-out: the floor and the server. Runs with the same index were made together. */
export interface Comparison {
  readonly scenario: FanOut;
  readonly floor: Measured;
  readonly server: Measured;
}

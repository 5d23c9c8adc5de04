import { setTimeout as sleep } from 'node:timers/promises';
import type { CpuUsage } from './cpu-usage.ts';
import type { StepResult } from './load/open-loop.ts';
import type { LoadProcess } from './load-process.ts';
import type { FanOut } from './scenarios.ts';
import { highestThatHolds } from './search.ts';

/** A rate has failed when it failed so often. */
const FAILURES_MAX = 2;
/** What others may use of this machine before a step that failed is put down to them, in cores. */
const OTHERS_MAX = 0.04;
/** How many steps of one search are repeated for that reason; those that follow count. */
const REPEATS_MAX = 5;
const QUIET_WINDOW_MS = 300;
const QUIET_WITHIN_MS = 3000;
const WARMUP_SECONDS = 0.3;

/** How thoroughly to measure. */
export interface Effort {
  readonly runs: number;
  /** The timed part of one step. */
  readonly stepSeconds: number;
  /** See `Search`. */
  readonly precision: number;
}

/** A server under load. */
export interface Subject {
  readonly load: LoadProcess;
  /** Starts to watch the processors; nothing where the server is not a process of ours. */
  readonly watch: (() => () => CpuUsage) | undefined;
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
  /** The step at the highest rate that held; nothing where none did. */
  readonly best: TriedStep | undefined;
  /** Steps that failed and were repeated because others used the machine. */
  readonly repeated: number;
  /** Steps that others disturbed no less, and that counted because enough had been repeated. */
  readonly disturbed: number;
}

/**
 * Finds the highest rate one server holds. `startAt`, in publishes per second, is where an earlier
 * run of the same server ended, or nothing on the first.
 */
export async function measureFanOut(
  subject: Subject,
  scenario: FanOut,
  effort: Effort,
  startAt: number | undefined,
  onStep: (step: TriedStep) => void,
): Promise<FanOutFigure> {
  let best: TriedStep | undefined;
  let repeated = 0;
  let disturbed = 0;

  const holds = async (publishesPerSecond: number): Promise<boolean> => {
    let failures = 0;
    while (failures < FAILURES_MAX) {
      const step = await tryStep(subject, scenario, publishesPerSecond, effort.stepSeconds);
      onStep(step);
      if (step.isHeld) {
        best = step;
        return true;
      }
      const isDisturbed = (step.cpu?.others ?? 0) > OTHERS_MAX;
      if (isDisturbed && repeated < REPEATS_MAX) {
        repeated += 1;
        await quiet(subject);
      } else {
        if (isDisturbed) disturbed += 1;
        failures += 1;
      }
    }
    return false;
  };

  // Not judged: it is there for the compilers of both sides.
  const { result } = await tryStep(subject, scenario, scenario.publishesPerSecond, 1);
  if (result.refused > 0) throw new Error(`a publish was refused: ${result.firstRefusal}`);
  // A second run starts close to where the first ended and takes smaller steps from there.
  const from = startAt
    ? { startAt: startAt * 0.93, growth: 1.15 }
    : { startAt: scenario.publishesPerSecond, growth: 2 };
  const held = await highestThatHolds({ ...from, precision: effort.precision }, holds);
  const deliveriesPerSecond = held * scenario.crowd.subscribersEach;
  return { deliveriesPerSecond, best, repeated, disturbed };
}

async function tryStep(
  { load, watch }: Subject,
  { dataBytes, p99MsMax }: FanOut,
  publishesPerSecond: number,
  seconds: number,
): Promise<TriedStep> {
  const used = watch?.();
  const result = await load.call('step', {
    publishesPerSecond,
    warmupSeconds: WARMUP_SECONDS,
    seconds,
    dataBytes,
    limitMs: p99MsMax,
  });
  const faults = result.missing + result.duplicated + result.refused + result.lost;
  const isHeld = !result.cutShort && faults === 0 && result.p99Ms <= p99MsMax;
  return { result, cpu: used?.(), isHeld };
}

/** Waits for a moment in which others leave the machine to us, but not for long. */
async function quiet({ watch }: Subject): Promise<void> {
  for (let waitedMs = 0; waitedMs < QUIET_WITHIN_MS; waitedMs += QUIET_WINDOW_MS) {
    const used = watch?.();
    await sleep(QUIET_WINDOW_MS);
    if ((used?.().others ?? 0) <= OTHERS_MAX) return;
  }
}

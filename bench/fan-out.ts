import { setTimeout as sleep } from 'node:timers/promises';
import type { AppAddress } from './bench-app.ts';
import { type CpuUsage, watchCpu } from './cpu-usage.ts';
import { type FanOut, hearersOf, loadOf } from './fan-outs.ts';
import type { LoadSize, StepResult } from './load/open-loop.ts';
import { type LoadProcess, startLoad } from './load-process.ts';
import { whole } from './report.ts';
import type { Bench } from './scenario.ts';
import { highestThatHolds } from './search.ts';
import type { Contender } from './servers.ts';

/** A rate has failed when it failed so often. */
const FAILURES_MAX = 2;
/** What others may use of this machine before a step that failed is put down to them, in cores. */
const OTHERS_MAX = 0.04;
/** How many steps of one search are repeated for that reason; those that follow count. */
const REPEATS_MAX = 5;
const QUIET_WINDOW_MS = 300;
const QUIET_WITHIN_MS = 3000;
const WARMUP_SECONDS = 0.3;
/** Before the search: so many times the rate at which it starts, for so long. */
const WARM_UP_TIMES = 4;
const WARM_UP_SECONDS = 3;

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

/** All runs of one server. */
export interface Measured {
  readonly server: string;
  readonly runs: readonly FanOutFigure[];
}

/** One fan-out: the floor, and the server beside it. Runs of the same index were made together. */
export interface Comparison {
  readonly scenario: FanOut;
  readonly floor: Measured;
  readonly server: Measured;
}

/** A server that has just started is still compiling: what is asked is what it does all day. */
const warmUp = { connections: 64, eventsEach: 1, dataBytes: 200, warmupSeconds: 0, seconds: 3 };

/** Starts a server, warms it up, and connects whom it is loaded with. */
export async function startUnderLoad(
  { pinning }: Pick<Bench, 'pinning'>,
  contender: Contender,
  size: LoadSize,
  app?: FanOut['app'],
): Promise<Subject & AsyncDisposable> {
  await using parts = new AsyncDisposableStack();
  const running = parts.use(await contender.start(pinning.server, { app }));
  await intakeOnce(pinning, running.app);
  const load = parts.use(startLoad(pinning.load));
  await load.call('connect', { ...size, app: running.app });
  const { pid } = running;
  const watch = pid === undefined ? undefined : () => watchCpu({ server: pid, load: load.pid });
  const started = parts.move();
  return { load, watch, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

async function intakeOnce(pinning: Bench['pinning'], app: AppAddress): Promise<void> {
  await using load = startLoad(pinning.load);
  await load.call('intake', { ...warmUp, app });
}

/** What was found before in this run of the benchmark, or is found now. */
export async function comparisonOf(bench: Bench, scenario: FanOut): Promise<Comparison> {
  const before = bench.comparisons.get(scenario.name);
  if (before !== undefined) return before;
  const comparison = await compareFanOut(bench, scenario);
  bench.comparisons.set(scenario.name, comparison);
  return comparison;
}

/** Runs server and floor in turn, so that what changes on this machine meanwhile meets both. */
async function compareFanOut(bench: Bench, scenario: FanOut): Promise<Comparison> {
  const runs: Record<'floor' | 'server', FanOutFigure[]> = { floor: [], server: [] };
  for (let run = 1; run <= bench.effort.runs; run += 1) {
    for (const role of ['server', 'floor'] as const) {
      const contender = bench[role];
      const size = loadOf(scenario, role);
      await using subject = await startUnderLoad(bench, contender, size, scenario.app);
      const before = runs[role].at(-1)?.best?.result.publishesPerSecond;
      const plan = { ...scenario, load: size };
      const figure = await measureFanOut(subject, plan, bench.effort, before, bench.tellStep);
      runs[role].push(figure);
      const found = whole(figure.deliveriesPerSecond);
      bench.tell(`${scenario.name}, run ${run}, ${contender.name}: ${found} deliveries/s`);
    }
  }
  return {
    scenario,
    floor: { server: bench.floor.name, runs: runs.floor },
    server: { server: bench.server.name, runs: runs.server },
  };
}

/**
 * Finds the highest rate one server holds. `startAt`, in publishes per second, is where an earlier
 * run of the same server ended, or nothing on the first.
 */
async function measureFanOut(
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
  const warmUpRate = scenario.publishesPerSecond * WARM_UP_TIMES;
  const { result } = await tryStep(subject, scenario, warmUpRate, WARM_UP_SECONDS);
  if (result.refused > 0) throw new Error(`an event was refused: ${result.firstRefusal}`);
  // A second run starts close to where the first ended and takes smaller steps from there.
  const from = startAt
    ? { startAt: startAt * 0.93, growth: 1.15 }
    : { startAt: scenario.publishesPerSecond, growth: 2 };
  const held = await highestThatHolds({ ...from, precision: effort.precision }, holds);
  const deliveriesPerSecond = held * hearersOf(scenario.load);
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

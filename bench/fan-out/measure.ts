import { setTimeout as sleep } from 'node:timers/promises';
import { Mutex } from '../../src/runtime/mutex.ts';
import type { AppAddress } from '../bench-app.ts';
import type { LoadSize } from '../load/open-loop.ts';
import { type LoadProcess, startLoad } from '../load-calls.ts';
import { type CpuUsage, OTHERS_MAX, watchCpu } from '../machine/cpu-usage.ts';
import { whole } from '../report.ts';
import type { Bench } from '../scenario.ts';
import type { Contender, Role } from '../servers.ts';
import type { Comparison, FanOutFigure, TriedStep } from './comparison.ts';
import { type FanOut, hearersOf, loadOf, P99_MS_MAX } from './fan-outs.ts';
import { rateThatHolds } from './search.ts';

/** How many steps of one search are repeated for that reason; those that follow count. */
const REPEATS_MAX = 5;
const QUIET_WINDOW_MS = 300;
const QUIET_WITHIN_MS = 3000;
/** What a step does before it is timed. */
export const WARMUP_SECONDS = 0.3;
/** Before the search: this multiple of the starting rate, for this long. */
const WARM_UP_TIMES = 4;
const WARM_UP_SECONDS = 3;
/** How far apart the first rates of a search are. */
const FIRST_FACTOR = 2;
/** The same for a second run, which starts where the first one ended. */
const LATER_FACTOR = 1.15;

/** A server under load. */
export interface Subject {
  readonly load: LoadProcess;
  /** Starts to measure CPU usage; nothing if the server is not a process of this benchmark. */
  readonly watch: (() => () => CpuUsage) | undefined;
}

/** Warm-up: a server that has just started is still compiling. */
const warmUp = { connections: 64, eventsEach: 1, dataBytes: 200, warmupSeconds: 0, seconds: 3 };

/** Starts a server, warms it up, and connects its load. */
export async function startUnderLoad(
  { pinning }: Pick<Bench, 'pinning'>,
  contender: Contender,
  size: LoadSize,
  app?: FanOut['app'],
): Promise<Subject & AsyncDisposable> {
  await using parts = new AsyncDisposableStack();
  const running = parts.use(await contender.start(pinning.server, app));
  await intakeOnce(pinning, running.app);
  const load = parts.use(startLoad(pinning.load));
  await load.call('connect', { ...size, app: running.app, staysAwake: pinning.areApart });
  const { pid } = running;
  const watch = pid === undefined ? undefined : () => watchCpu({ server: pid, load: load.pid });
  const started = parts.move();
  return { load, watch, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

/** Sends requests for a while, to a server that has just started. */
export async function intakeOnce(pinning: Bench['pinning'], app: AppAddress): Promise<void> {
  await using load = startLoad(pinning.load);
  await load.call('intake', { ...warmUp, app, staysAwake: pinning.areApart });
}

/** Searches for server and floor at the same time, a step of each in turn, so that changes on this machine affect both. */
export async function compareFanOut(bench: Bench, scenario: FanOut): Promise<Comparison> {
  const runs: Record<Role, FanOutFigure[]> = { floor: [], server: [] };
  for (let run = 1; run <= bench.effort.runs; run += 1) {
    const turns = new Mutex();
    await using server = await startScenario(bench, scenario, 'server');
    await using floor = await startScenario(bench, scenario, 'floor');
    const found = await Promise.all([
      measureFanOut({ ...server, turns, before: runs.server.at(-1) }, bench),
      measureFanOut({ ...floor, turns, before: runs.floor.at(-1) }, bench),
    ]);
    for (const [role, figure] of [
      ['server', found[0]],
      ['floor', found[1]],
    ] as const) {
      runs[role].push(figure);
      const each = whole(figure.deliveriesPerSecond);
      bench.log(`${scenario.name}, run ${run}, ${bench[role].name}: ${each} deliveries/s`);
    }
  }
  return {
    scenario,
    floor: { server: bench.floor.name, runs: runs.floor },
    server: { server: bench.server.name, runs: runs.server },
  };
}

/** A server under the load of a scenario. */
interface ScenarioSubject extends Subject {
  readonly name: string;
  readonly scenario: FanOut;
}

async function startScenario(
  bench: Bench,
  scenario: FanOut,
  role: Role,
): Promise<ScenarioSubject & AsyncDisposable> {
  const load = loadOf(scenario, role);
  const isWithout = role === 'floor' && scenario.isBesideItself === true;
  const contender = isWithout ? bench.server : bench[role];
  const app = isWithout ? undefined : scenario.app;
  const subject = await startUnderLoad(bench, contender, load, app);
  return { ...subject, name: contender.name, scenario: { ...scenario, load } };
}

/** Searches the rate that one server sustains. Its steps run in turn with those of others. */
async function measureFanOut(
  subject: ScenarioSubject & {
    readonly turns: Mutex;
    /** Where an earlier run of the same server ended. */
    readonly before: FanOutFigure | undefined;
  },
  { effort, logStep }: Pick<Bench, 'effort' | 'logStep'>,
): Promise<FanOutFigure> {
  const { name, scenario, turns, before } = subject;
  const held: TriedStep[] = [];
  let repeated = 0;
  let disturbed = 0;

  const holds = async (publishesPerSecond: number): Promise<boolean> => {
    for (;;) {
      const step = await turns.run(() =>
        tryStep(subject, scenario, publishesPerSecond, effort.stepSeconds),
      );
      logStep(name, step);
      if (step.isHeld) {
        held.push(step);
        return true;
      }
      if ((step.cpu?.others ?? 0) <= OTHERS_MAX) return false;
      if (repeated === REPEATS_MAX) {
        disturbed += 1;
        return false;
      }
      repeated += 1;
      await turns.run(() => quiet(subject));
    }
  };

  // Not judged: it warms up the compilers of both sides.
  const warmUpRate = scenario.publishesPerSecond * WARM_UP_TIMES;
  const { result } = await turns.run(() => tryStep(subject, scenario, warmUpRate, WARM_UP_SECONDS));
  if (result.refused > 0) throw new Error(`an event was refused: ${result.firstRefusal}`);
  const from = before?.publishesPerSecond
    ? { startAt: before.publishesPerSecond, factor: LATER_FACTOR }
    : { startAt: scenario.publishesPerSecond, factor: FIRST_FACTOR };
  const publishesPerSecond = await rateThatHolds({ ...effort, ...from }, holds);
  const distance = ({ result }: TriedStep) =>
    Math.abs(Math.log(result.publishesPerSecond / publishesPerSecond));
  return {
    publishesPerSecond,
    deliveriesPerSecond: publishesPerSecond * hearersOf(scenario.load),
    best: held.toSorted((a, b) => distance(a) - distance(b))[0],
    repeated,
    disturbed,
  };
}

export async function tryStep(
  { load, watch }: Subject,
  { dataBytes }: Pick<FanOut, 'dataBytes'>,
  publishesPerSecond: number,
  seconds: number,
): Promise<TriedStep> {
  const used = watch?.();
  const result = await load.call('step', {
    publishesPerSecond,
    warmupSeconds: WARMUP_SECONDS,
    seconds,
    dataBytes,
    limitMs: P99_MS_MAX,
  });
  const faults = result.missing + result.duplicated + result.refused + result.lost;
  const isHeld = !result.cutShort && faults === 0 && result.p99Ms <= P99_MS_MAX;
  return { result, cpu: used?.(), isHeld };
}

/** Waits for a moment without other load on the machine, but not for long. */
async function quiet({ watch }: Subject): Promise<void> {
  for (let waitedMs = 0; waitedMs < QUIET_WITHIN_MS; waitedMs += QUIET_WINDOW_MS) {
    const used = watch?.();
    await sleep(QUIET_WINDOW_MS);
    if ((used?.().others ?? 0) <= OTHERS_MAX) return;
  }
}

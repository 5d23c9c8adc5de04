import type { StepResult } from '../load/open-loop.ts';
import { align, median, ms, verdict, whole } from '../report.ts';
import type { Bench } from '../scenario.ts';
import type { Role } from '../servers.ts';
import type { FanOutFigure } from './comparison.ts';
import { type FanOut, fanOutNamed, loadOf } from './fan-outs.ts';
import { comparisonOf, startUnderLoad } from './measure.ts';

const FAN_OUTS = ['hot', 'spread'];
/** How much more than the rate that holds. */
const TIMES_HELD = 1.5;
const SECONDS = 3;
const P50_MS_MAX = 100;
/** Not judged: it is there for the compilers of both sides. */
const WARM_UP_STEP_SECONDS = 1;

/** What one server did with more than it holds. */
interface Overloaded {
  readonly server: string;
  /** What it holds, in publishes per second; nothing else was measured where that is 0. */
  readonly held: number;
  readonly steps: readonly StepResult[];
}

/** One fan-out under too much load. */
export interface Overload {
  readonly fanOut: string;
  readonly server: Overloaded;
  readonly floor: Overloaded;
}

/** Gives each server more than it holds, and sees to the end what becomes of it. */
export async function measureOverload(bench: Bench): Promise<Overload[]> {
  const overloads: Overload[] = [];
  for (const name of FAN_OUTS) {
    const fanOut = fanOutNamed(name);
    const { server, floor } = await comparisonOf(bench, fanOut);
    overloads.push({
      fanOut: name,
      server: await overload(bench, fanOut, 'server', server.runs),
      floor: await overload(bench, fanOut, 'floor', floor.runs),
    });
  }
  return overloads;
}

async function overload(
  bench: Bench,
  fanOut: FanOut,
  role: Role,
  runs: readonly FanOutFigure[],
): Promise<Overloaded> {
  const { name } = bench[role];
  const held = median(runs.map(({ publishesPerSecond }) => publishesPerSecond));
  const steps: StepResult[] = [];
  for (let run = 1; held > 0 && run <= bench.effort.runs; run += 1) {
    await using subject = await startUnderLoad(bench, bench[role], loadOf(fanOut, role));
    const step = {
      publishesPerSecond: fanOut.publishesPerSecond,
      warmupSeconds: 0,
      seconds: WARM_UP_STEP_SECONDS,
      dataBytes: fanOut.dataBytes,
      limitMs: undefined,
    };
    await subject.load.call('step', step);
    const publishesPerSecond = Math.round(held * TIMES_HELD);
    steps.push(await subject.load.call('step', { ...step, publishesPerSecond, seconds: SECONDS }));
    bench.tell(`overload of ${fanOut.name}, run ${run}, ${name}: ${publishesPerSecond}/s`);
  }
  return { server: name, held, steps };
}

/** Whether nothing was lost, nobody was closed, and half of all deliveries came soon enough. */
export function isWeathered({ steps }: Pick<Overloaded, 'steps'>): boolean {
  const isWhole = steps.every(
    ({ missing, duplicated, refused, lost }) => missing + duplicated + refused + lost === 0,
  );
  return steps.length > 0 && isWhole && median(steps.map(({ p50Ms }) => p50Ms)) <= P50_MS_MAX;
}

type Column = readonly [head: string, print: (steps: readonly StepResult[]) => string];

const medianMs = (pick: (step: StepResult) => number) => (steps: readonly StepResult[]) =>
  steps.length === 0 ? '' : ms(median(steps.map(pick)));
const sum = (pick: (step: StepResult) => number) => (steps: readonly StepResult[]) =>
  whole(steps.reduce((total, step) => total + pick(step), 0));

const columns: readonly Column[] = [
  ['p50 ms', medianMs(({ p50Ms }) => p50Ms)],
  ['p99', medianMs(({ p99Ms }) => p99Ms)],
  ['max', medianMs(({ maxMs }) => maxMs)],
  ['missing', sum(({ missing }) => missing)],
  ['twice', sum(({ duplicated }) => duplicated)],
  ['refused', sum(({ refused }) => refused)],
  ['closed', sum(({ lost }) => lost)],
];

/** The table of both fan-outs, and what was asked of each. */
export function printOverload(overloads: readonly Overload[]): string {
  const rows = overloads.flatMap(({ fanOut, server, floor }) =>
    [server, floor].map(({ server: name, held, steps }) => [
      `${fanOut}, ${name}`,
      whole(held * TIMES_HELD),
      ...columns.map(([, print]) => print(steps)),
    ]),
  );
  return [
    `overload: ${TIMES_HELD} times the rate that holds, for ${SECONDS} s`,
    'latencies are medians of all runs, and the rest is their sum',
    ...align([['', 'events/s', ...columns.map(([head]) => head)], ...rows]),
    ...overloads.map(({ fanOut, server }) =>
      verdict(
        `${fanOut}: nothing lost, nobody closed, p50 <= ${P50_MS_MAX} ms`,
        isWeathered(server),
      ),
    ),
  ].join('\n');
}

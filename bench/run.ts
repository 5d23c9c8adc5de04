/** `npm run bench`: measures Fanfare beside the floor. `--help` says how. */
import { writeFile } from 'node:fs/promises';
import { describeConditions } from './conditions.ts';
import { findPinning, type Pinning } from './cores.ts';
import { watchCpu } from './cpu-usage.ts';
import { type Effort, type FanOutFigure, measureFanOut, type Subject } from './fan-out.ts';
import { startLoad } from './load-process.ts';
import { help, type Options, readOptions } from './options.ts';
import {
  type Comparison,
  type MeasuredCeiling,
  median,
  printCeilings,
  printComparison,
  printConditions,
  printStep,
  ratios,
} from './report.ts';
import { type FanOut, fanOuts } from './scenarios.ts';
import { type Contender, fanfare, floor, runningAt } from './servers.ts';

/** More than are ever waiting for an answer at a rate that holds, so that none waits for a connection. */
const PUBLISHERS = 256;

/** Nothing merged, and as much as Bun merges into one write of a topic. */
const FRAMES_PER_READ = [1, 8, 32];

const thorough = { stepSeconds: 1.5, precision: 1.04 };
const quick = { stepSeconds: 0.8, precision: 1.1 };

async function startUnderLoad(
  pinning: Pinning,
  contender: Contender,
  scenario: FanOut,
): Promise<Subject & AsyncDisposable> {
  await using parts = new AsyncDisposableStack();
  const { app, pid } = parts.use(await contender.start(pinning.server));
  const load = parts.use(startLoad(pinning.load));
  await load.call('connect', { app, crowd: scenario.crowd, publishers: PUBLISHERS });
  const watch = pid === undefined ? undefined : () => watchCpu({ server: pid, load: load.pid });
  const started = parts.move();
  return { load, watch, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

async function measureCeilings(pinning: Pinning, scenario: FanOut): Promise<MeasuredCeiling[]> {
  await using subject = await startUnderLoad(pinning, floor, scenario);
  const { dataBytes } = scenario;
  const ceilings: MeasuredCeiling[] = [];
  for (const framesPerRead of FRAMES_PER_READ) {
    const deliveriesPerSecond = await subject.load.call('ceiling', {
      rounds: 40,
      framesPerRead,
      dataBytes,
    });
    ceilings.push({ framesPerRead, deliveriesPerSecond });
  }
  return ceilings;
}

/** Runs server and floor in turn, so that what changes on this machine meanwhile meets both. */
async function compare(
  pinning: Pinning,
  scenario: FanOut,
  server: Contender,
  effort: Effort,
  isVerbose: boolean,
): Promise<Comparison> {
  const runs: Record<'floor' | 'server', FanOutFigure[]> = { floor: [], server: [] };
  for (let run = 1; run <= effort.runs; run += 1) {
    for (const [role, contender] of [
      ['server', server],
      ['floor', floor],
    ] as const) {
      await using subject = await startUnderLoad(pinning, contender, scenario);
      const before = runs[role].at(-1)?.best?.result.publishesPerSecond;
      const figure = await measureFanOut(subject, scenario, effort, before, (step) => {
        if (isVerbose) console.error(printStep(step));
      });
      runs[role].push(figure);
      const found = figure.deliveriesPerSecond.toLocaleString('en');
      console.error(`${scenario.name}, run ${run}, ${contender.name}: ${found} deliveries/s`);
    }
  }
  return {
    scenario,
    floor: { server: floor.name, runs: runs.floor },
    server: { server: server.name, runs: runs.server },
  };
}

function contenderOf(options: Options): Contender {
  if (options.app !== undefined) return runningAt(options.app);
  return options.floorTwice ? { ...floor, name: 'floor again' } : fanfare;
}

async function main(): Promise<number> {
  const read = readOptions(process.argv.slice(2));
  if (!read.ok) {
    console.error(`bench: ${read.why}\nTry --help.`);
    return 2;
  }
  const { options } = read;
  if (options.help) {
    console.log(help);
    return 0;
  }

  const pinning = findPinning();
  const conditions = describeConditions(pinning.description);
  console.log(printConditions(conditions));
  const effort = { runs: options.runs, ...(options.quick ? quick : thorough) };

  const comparisons: (Comparison & { ratio: number; ceilings: MeasuredCeiling[] })[] = [];
  for (const scenario of fanOuts) {
    const ceilings = await measureCeilings(pinning, scenario);
    console.log(printCeilings(ceilings));
    const server = contenderOf(options);
    const comparison = await compare(pinning, scenario, server, effort, options.verbose);
    console.log(`\n${printComparison(comparison)}`);
    comparisons.push({ ...comparison, ratio: median(ratios(comparison)), ceilings });
  }
  if (options.json !== undefined) {
    const results = { conditions, effort, fanOuts: comparisons };
    await writeFile(options.json, `${JSON.stringify(results, null, 2)}\n`);
  }
  return 0;
}

// So that what was started is stopped: see `startProcess`.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => process.exit(1));
}
process.exitCode = await main();

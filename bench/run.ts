/** `npm run bench`: every benchmark. `--help` explains the options. */

import { checkOut, UnknownCommit } from '../testing/servers/checked-out.ts';
import { benchCheck } from './check/check.ts';
import { type ClusterComparison, compareClusters } from './cluster/beside.ts';
import { printBeside } from './cluster/print-beside.ts';
import { printModel } from './cluster/print-model.ts';
import { describeConditions } from './machine/conditions.ts';
import { findPinning } from './machine/cores.ts';
import { goFirst } from './machine/priority.ts';
import { helpFor, type Options, readOptions, UsageError, writeResults } from './options.ts';
import { benchPresence } from './presence/presence.ts';
import { benchAccept } from './push/accept/accept.ts';
import { benchBroadcast } from './push/broadcast/broadcast.ts';
import { benchPush } from './push/deliver.ts';
import { printConditions, printStep } from './report.ts';
import { grants } from './scale/grants/grants.ts';
import { million } from './scale/million/million.ts';
import { neighbours } from './scale/neighbours/neighbours.ts';
import { recovery } from './scale/recovery/recovery.ts';
import { storm } from './scale/storm/storm.ts';
import { tls } from './scale/tls/tls.ts';
import { type Bench, choose } from './scenario.ts';
import { scenarios } from './scenarios.ts';
import { type Contender, fanfare, floor, runningAt } from './servers.ts';
import { soak } from './soak/soak.ts';
import { compareVersions, printVersions, type VersionComparison } from './versions/compare.ts';
import { chooseWorks } from './versions/works.ts';

const thorough = { stepSeconds: 1.5, factorMin: 1.05, turns: 12 };
const quick = { stepSeconds: 0.8, factorMin: 1.1, turns: 8 };

function contenderOf(options: Options): Contender {
  if (options.app !== undefined) return runningAt(options.app);
  return options.floorTwice ? { ...floor, name: 'floor again' } : fanfare;
}

/** Commands with options of their own. */
const commands: Readonly<Record<string, (args: string[]) => Promise<number>>> = {
  push: benchPush,
  accept: benchAccept,
  broadcast: benchBroadcast,
  soak,
  million,
  storm,
  tls,
  grants,
  neighbours,
  recovery,
  check: benchCheck,
  presence: benchPresence,
};

async function benchScenarios(args: string[]): Promise<number> {
  const options = readOptions(args, scenarios);
  if (options.help) {
    console.log(helpFor(scenarios));
    return 0;
  }
  if (options.model) {
    console.log(printModel());
    return 0;
  }

  const pinning = findPinning();
  const conditions = describeConditions(`${pinning.description}, ${goFirst()}`);
  console.log(printConditions(conditions));
  const bench: Bench = {
    pinning,
    server: contenderOf(options),
    floor,
    effort: { runs: options.runs, ...(options.quick ? quick : thorough) },
    isQuick: options.quick,
    log: (line) => console.error(line),
    logStep: (server, step) => {
      if (options.verbose) console.error(printStep(server, step));
    },
  };

  if (options.beside !== undefined) {
    const figures = await besideCommit(bench, options.beside, options);
    await writeResults(options.json, { conditions, runs: options.runs, ...figures });
    return 0;
  }

  const { measured, leftOut } = choose(scenarios, options.names, options.app !== undefined);
  for (const { name, needs } of leftOut) {
    console.log(`\n${name}: left out, it needs ${needs}`);
  }
  const figures: Record<string, unknown> = {};
  for (const scenario of measured) {
    const measurement = await scenario.run(bench);
    console.log(`\n${measurement.text}`);
    figures[scenario.name] = measurement.figures;
  }
  await writeResults(options.json, {
    conditions,
    effort: bench.effort,
    leftOut: leftOut.map(({ name }) => name),
    scenarios: figures,
  });
  return 0;
}

/** Compares this version with another one, and returns the figures. */
async function besideCommit(
  bench: Bench,
  commit: string,
  { names, threads }: Pick<Options, 'names' | 'threads'>,
): Promise<{ beside: string; works: readonly VersionComparison[]; cluster?: ClusterComparison }> {
  const ofOne = names.filter((name) => name !== 'cluster');
  const hasCluster = ofOne.length < names.length;
  const chosen = hasCluster && ofOne.length === 0 ? [] : chooseWorks(ofOne);
  using other = checkOut(commit);
  const compared: VersionComparison[] = [];
  for (const work of chosen) {
    const comparison = await compareVersions(bench, work, other);
    console.log(`\n${printVersions(comparison)}`);
    compared.push(comparison);
  }
  if (!hasCluster) return { beside: commit, works: compared };
  const cluster = await compareClusters(bench, other, threads);
  console.log(`\n${printBeside(cluster)}`);
  return { beside: commit, works: compared, cluster };
}

// Exiting stops the processes that were started: see `startProcess`.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => process.exit(1));
}
const [command = '', ...args] = process.argv.slice(2);
try {
  process.exitCode = await (commands[command]?.(args) ?? benchScenarios(process.argv.slice(2)));
} catch (error) {
  if (!(error instanceof UsageError || error instanceof UnknownCommit)) throw error;
  console.error(`bench: ${error.message}\nTry --help.`);
  process.exitCode = 2;
}

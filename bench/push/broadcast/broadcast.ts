/** `npm run bench -- broadcast`: what a publish to millions takes. `--help` explains the options. */
import { join } from 'node:path';
import { hasPostgres, throwAwayPostgres } from '../../../testing/databases/postgres.ts';
import { type CheckedOut, checkOut } from '../../../testing/servers/checked-out.ts';
import { inRounds } from '../../in-rounds.ts';
import { describeConditions } from '../../machine/conditions.ts';
import { findPinning, type Pinning } from '../../machine/cores.ts';
import { runTask } from '../../machine/run-task.ts';
import { countOf, parseOptions, UsageError, writeResults } from '../../options.ts';
import { printConditions } from '../../report.ts';
import { storeFileOf } from '../../servers.ts';
import { seedPostgres } from '../deliver-seed-postgres.ts';
import { openSite } from '../deliver-site.ts';
import { deliverOnce } from '../delivery-run.ts';
import {
  printBroadcast,
  printCosts,
  printMemory,
  printPlanning,
  serverUsEach,
} from './broadcast-report.ts';
import { broadcastOnce } from './broadcast-run.ts';
import type { PlanningResult, PlanningTask } from './planning-task.ts';

const help = `Measures what a publish to millions of devices takes: the real server on SQLite, with a gateway on this machine
that accepts everything as Apple's would. Planning is also measured on PostgreSQL, if that is installed.

npm run bench -- broadcast [options]

  --only PARTS     some of memory, cost, planning, with commas (memory,cost,planning)
  --devices N      devices of the large publish (10000000, which takes 7 GB of disk)
  --few N          devices of the small one, which is sent ten times, and whose memory is compared (100000)
  --cost N         devices of the publishes whose processor time is compared (200000)
  --runs N         runs of each of those (3)
  --beside COMMIT  compare their processor time with another commit, too
  --json FILE      also write the results to this file
  --help           print this
`;

const parts = ['memory', 'cost', 'planning'] as const;
type PartName = (typeof parts)[number];

interface Trial {
  readonly pinning: Pinning;
  readonly devices: number;
  readonly few: number;
  readonly cost: number;
  readonly runs: number;
  readonly other: CheckedOut | undefined;
}

/** How often the small publish is repeated: see `broadcastOnce`. */
const REPEATS = 10;

const kind = 'apns';
const LANGUAGE = 'de';

/** How a publish with every manner differs. */
const manners = {
  instance: {
    timeZone: 'UTC',
    cap: { notifications: 1000, hours: 168 },
    // None of the devices has it now.
    quietHours: hoursFromNow(6, 7),
  },
  fields: { texts: { [LANGUAGE]: { title: 'Hallo', body: 'y'.repeat(120) } } },
};

function hoursFromNow(from: number, to: number): { from: string; to: string } {
  const text = (hours: number) =>
    new Date(Date.now() + hours * 3_600_000).toISOString().slice(11, 16);
  return { from: text(from), to: text(to) };
}

const seed = { areTrusted: true, language: LANGUAGE };

async function measureMemory({ pinning, devices, few }: Trial): Promise<object> {
  const runs = [];
  for (const [some, publishes] of [
    [few, REPEATS],
    [devices, 1],
  ] as const) {
    await using site = await openSite(pinning.load, { kind, devices: some, instances: 1, seed });
    const run = await broadcastOnce(pinning.server, site, publishes);
    console.error(printBroadcast(run));
    runs.push(run);
  }
  console.log(`\n${printMemory(runs)}`);
  return { part: 'memory', runs };
}

/** In turns, so that changes of the machine's load affect all of them. */
async function measureCost({ pinning, cost, runs, other }: Trial): Promise<object> {
  await using site = await openSite(pinning.load, { kind, devices: cost, instances: 1, seed });
  const options = { plain: {}, manners, other: { clone: other?.folder } };
  const names = (['plain', 'manners', 'other'] as const).filter(
    (name) => name !== 'other' || other !== undefined,
  );
  const found = await inRounds(runs, names, async (name) => {
    const run = await deliverOnce(pinning.server, site, options[name]);
    console.error(`${name}: ${serverUsEach(run).toFixed(1)} µs each`);
    return serverUsEach(run);
  });
  console.log(`\n${printCosts(cost, found)}`);
  return { part: 'cost', devices: cost, found };
}

async function measurePlanning(trial: Trial): Promise<object> {
  const { pinning, devices: all } = trial;
  const devices = Math.min(all, 1_000_000);
  const found: Record<string, readonly PlanningResult[]> = {};
  {
    await using site = await openSite(pinning.load, { kind, devices, instances: 1, seed });
    found['SQLite'] = await plan(trial, `sqlite:${storeFileOf(site.folder)}`, devices);
  }
  if (hasPostgres()) {
    await using store = await throwAwayPostgres();
    await seedPostgres(store.url, devices, LANGUAGE);
    found['PostgreSQL'] = await plan(trial, store.url, devices);
  }
  console.log(`\n${printPlanning(found)}`);
  return { part: 'planning', found };
}

async function plan(
  { pinning, runs }: Trial,
  store: string,
  devices: number,
): Promise<readonly PlanningResult[]> {
  const task: PlanningTask = { store, instance: 1, devices };
  const program = join(import.meta.dir, 'planning-task.ts');
  const found: PlanningResult[] = [];
  for (let run = 1; run <= runs; run += 1) {
    found.push(await runTask<PlanningResult>(pinning.server, program, task));
  }
  return found;
}

const measure: Readonly<Record<PartName, (trial: Trial) => Promise<object>>> = {
  memory: measureMemory,
  cost: measureCost,
  planning: measurePlanning,
};

/** Runs the command. Resolves with its exit code. */
export async function benchBroadcast(args: string[]): Promise<number> {
  const { values } = parseOptions({
    args,
    options: {
      only: { type: 'string', default: parts.join(',') },
      devices: { type: 'string', default: '10000000' },
      few: { type: 'string', default: '100000' },
      cost: { type: 'string', default: '200000' },
      runs: { type: 'string', default: '3' },
      beside: { type: 'string' },
      json: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(help);
    return 0;
  }
  const names = values.only.split(',');
  const only = parts.filter((part) => names.includes(part));
  if (only.length < new Set(names).size) {
    throw new UsageError(`--only takes some of ${parts.join(',')}`);
  }
  const pinning = findPinning();
  if (!pinning.areApart) throw new Error('two cores and taskset are needed');
  const conditions = describeConditions(pinning.description);
  console.log(printConditions(conditions));
  using other = values.beside === undefined ? undefined : checkOut(values.beside);
  const trial: Trial = {
    pinning,
    devices: countOf(values.devices, { option: '--devices', min: 1000 }),
    few: countOf(values.few, { option: '--few', min: 1000 }),
    cost: countOf(values.cost, { option: '--cost', min: 1000 }),
    runs: countOf(values.runs, { option: '--runs', min: 1 }),
    other,
  };
  const results: object[] = [];
  for (const part of only) results.push(await measure[part](trial));
  await writeResults(values.json, { conditions, results });
  return 0;
}

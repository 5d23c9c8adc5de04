/**
 * `npm run bench -- accept`: measures how much the push API accepts per second, compared with the floor. See
 * `--help`.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkOut } from '../../../testing/servers/checked-out.ts';
import { inTurn, othersIn } from '../../beside-floor.ts';
import { describeConditions } from '../../machine/conditions.ts';
import { findPinning, type Pinning } from '../../machine/cores.ts';
import { leastDisturbed } from '../../machine/quiet.ts';
import { runTask } from '../../machine/run-task.ts';
import { countOf, parseOptions, UsageError, writeResults } from '../../options.ts';
import { printConditions } from '../../report.ts';
import { benchInstances } from './bench-instances.ts';
import { compareKept, isAllKept, type Kept } from './kept.ts';
import type { LoadTask, Run } from './load.ts';
import { type CheckedRun, duties, printDuty, printRun } from './report.ts';
import type { Kind } from './requests.ts';
import { type AcceptingServer, type Contender, fanfare, floor } from './servers.ts';

const CONNECTIONS = 64;
const WARMUP_SECONDS = 2;

const help = `Measures what Fanfare accepts in a second, publishes and registrations, each answered once it is durable; beside
bench/push/accept/floor.ts, a bare Bun program that answers the same requests and keeps nothing.

npm run bench -- accept [options]

  --seconds N      the measured part of each run (6)
  --runs N         how often each server is started and measured (3)
  --beside COMMIT  measure the Fanfare of another commit in place of the floor: two versions in one run
  --json FILE      write the results there as well
  --help           print this
`;

/** What all runs have in common. */
interface Trial {
  readonly pinning: Pinning;
  readonly seconds: number;
  readonly idsFile: string;
}

/** One run on a fresh server. Throws if the server lost something that it had answered, or stored it twice. */
async function measureOnce(trial: Trial, kind: Kind, contender: Contender): Promise<CheckedRun> {
  await using server = await contender.start(trial.pinning.server);
  const task: LoadTask = {
    kind,
    port: server.pushPort,
    connections: CONNECTIONS,
    warmupSeconds: WARMUP_SECONDS,
    seconds: trial.seconds,
    serverPid: server.pid,
    idsFile: trial.idsFile,
  };
  const run = await runTask<Run>(trial.pinning.load, join(import.meta.dir, 'load.ts'), task);
  if (run.doubles > 0) throw new Error(`${run.doubles} ids came more than once`);
  return { ...run, kept: await checkKept(trial, kind, server) };
}

/** The store must contain exactly what was answered, although the server was killed. */
async function checkKept(
  { idsFile }: Trial,
  kind: Kind,
  server: AcceptingServer,
): Promise<Kept | undefined> {
  await server.crash();
  if (server.storeFile === undefined) return undefined;
  const kept = await compareKept(kind, idsFile, server.storeFile);
  if (isAllKept(kept)) return kept;
  const { answered, stored, missing } = kept;
  throw new Error(`${answered} ${kind} were answered, ${stored} are stored, ${missing} are lost`);
}

/** Measures one run on a fresh server; repeats it if other processes used the machine. */
async function measure(trial: Trial, kind: Kind, contender: Contender): Promise<CheckedRun> {
  const once = async () => {
    const run = await measureOnce(trial, kind, contender);
    console.error(printRun(kind, contender.name, run));
    return run;
  };
  return await leastDisturbed(once, othersIn);
}

/** Runs the command. Resolves with its exit code. */
export async function benchAccept(args: string[]): Promise<number> {
  const { values } = parseOptions({
    args,
    options: {
      seconds: { type: 'string', default: '6' },
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
  const seconds = Number(values.seconds);
  if (!(seconds >= 0.5)) throw new UsageError('--seconds takes a number from 0.5');
  const runs = countOf(values.runs, { option: '--runs', min: 1 });
  const folder = mkdtempSync(join(tmpdir(), 'fanfare-accept-ids-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

  const { beside } = values;
  using other = beside === undefined ? undefined : checkOut(beside);
  const contenders = { server: fanfare(), floor: other === undefined ? floor : fanfare(other) };
  const pinning = findPinning();
  const trial = { pinning, seconds, idsFile: join(folder, 'ids') };
  const conditions = describeConditions(pinning.description);
  console.log(printConditions(conditions));
  console.log(
    `${CONNECTIONS} connections, closed loop, ${benchInstances.length} instances without a limit of publishes`,
  );

  const results: object[] = [];
  for (const duty of duties) {
    const measured = await inTurn(runs, (role) => measure(trial, duty.kind, contenders[role]));
    console.log(`\n${printDuty(duty, contenders.server.name, measured)}\n`);
    results.push({ ...duty, ...measured });
  }
  await writeResults(values.json, { conditions, results });
  return 0;
}

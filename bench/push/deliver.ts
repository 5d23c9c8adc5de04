/** `npm run bench -- push`: how fast publishes reach their devices. `--help` explains the options. */
import { join } from 'node:path';
import { describeConditions } from '../machine/conditions.ts';
import { findPinning, type Pinning } from '../machine/cores.ts';
import { leastDisturbed, quiet } from '../machine/quiet.ts';
import { runTask } from '../machine/run-task.ts';
import { countOf, parseOptions, UsageError, writeResults } from '../options.ts';
import { printConditions, whole } from '../report.ts';
import type { ClientResult, ClientTask } from './bare-client.ts';
import { printApns, printKind, printRun } from './deliver-report.ts';
import { type DeliverSite, openSite } from './deliver-site.ts';
import { type DeliveryRun, deliverOnce } from './delivery-run.ts';

const help = `Measures how fast publishes reach their devices: the real server, with a gateway on this machine that accepts
everything. Beside it, for APNs, a bare client that sends the same requests with fetch.

npm run bench -- push [options]

  --only PARTS     some of apns, web, fcm, with commas (apns,web,fcm)
  --devices N      devices of a publish (200000)
  --runs N         measurements of each figure (3)
  --json FILE      also write the results to this file
  --help           print this
`;

const parts = ['apns', 'web', 'fcm'] as const;
type PartName = (typeof parts)[number];

/** Requests of the bare client in flight. */
const CLIENT_AT_ONCE = 200;

/** The second figure: several publishes at the same time, one for each instance. */
const INSTANCES = 4;

/** Reaching FCM's quota takes a minute, in which 330,000 notifications are sent. */
const FCM_DEVICES = 420_000;

/** What the parts have in common. */
interface Trial {
  readonly pinning: Pinning;
  readonly devices: number;
  readonly runs: number;
}

async function deliver({ pinning }: Trial, name: string, site: DeliverSite): Promise<DeliveryRun> {
  const once = async () => {
    const run = await deliverOnce(pinning.server, site);
    console.error(printRun(name, run));
    return run;
  };
  return await leastDisturbed(once, ({ cpu }) => cpu.others);
}

/** Runs all in turn, so that changes of the machine's load affect all of them. */
async function runApns(trial: Trial): Promise<object> {
  const { pinning, devices, runs } = trial;
  await using one = await openSite(pinning.load, { kind: 'apns', devices, instances: 1 });
  await using several = await openSite(pinning.load, {
    kind: 'apns',
    devices,
    instances: INSTANCES,
  });
  const bareClient = async (): Promise<ClientResult> => {
    const { origin, ca } = one.gateway;
    const task: ClientTask = { origin, ca, requests: devices, atOnce: CLIENT_AT_ONCE };
    await quiet();
    const program = join(import.meta.dir, 'bare-client.ts');
    const result = await runTask<ClientResult>(pinning.server, program, task);
    console.error(`bare client: ${whole(result.perSecond)}/s`);
    return result;
  };

  const fetch: ClientResult[] = [];
  const fanfare = new Map<number, DeliveryRun[]>([
    [1, []],
    [INSTANCES, []],
  ]);
  for (let run = 1; run <= runs; run += 1) {
    fetch.push(await bareClient());
    fanfare.get(1)?.push(await deliver(trial, 'apns, 1 publish', one));
    fanfare.get(INSTANCES)?.push(await deliver(trial, `apns, ${INSTANCES} publishes`, several));
  }
  console.log(`\n${printApns(devices, { fetch, fanfare })}`);
  return { part: 'apns', devices, fetch, fanfare: Object.fromEntries(fanfare) };
}

async function runKind(trial: Trial, kind: 'web' | 'fcm'): Promise<object> {
  const { pinning, runs } = trial;
  const devices = kind === 'fcm' ? Math.max(FCM_DEVICES, trial.devices) : trial.devices;
  await using site = await openSite(pinning.load, { kind, devices, instances: 1 });
  const measured: DeliveryRun[] = [];
  for (let run = 1; run <= runs; run += 1) measured.push(await deliver(trial, kind, site));
  console.log(`\n${printKind(kind, measured)}`);
  return { part: kind, devices, runs: measured };
}

const measure: Readonly<Record<PartName, (trial: Trial) => Promise<object>>> = {
  apns: runApns,
  web: (trial) => runKind(trial, 'web'),
  fcm: (trial) => runKind(trial, 'fcm'),
};

/** Runs the command. Resolves with its exit code. */
export async function benchPush(args: string[]): Promise<number> {
  const { values } = parseOptions({
    args,
    options: {
      only: { type: 'string', default: parts.join(',') },
      devices: { type: 'string', default: '200000' },
      runs: { type: 'string', default: '3' },
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
  const devices = countOf(values.devices, { option: '--devices', min: 1000 });
  const runs = countOf(values.runs, { option: '--runs', min: 1 });
  const pinning = findPinning();
  if (!pinning.areApart) throw new Error('two cores and taskset are needed');
  const conditions = describeConditions(pinning.description);
  console.log(printConditions(conditions));
  const results: object[] = [];
  for (const part of only) results.push(await measure[part]({ pinning, devices, runs }));
  await writeResults(values.json, { conditions, results });
  return 0;
}

/** `npm run bench:push`: how fast publishes reach their devices. `--help` says how. */
import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { describeConditions } from '../conditions.ts';
import type { ClientKind, ClientResult, ClientTask } from '../http2/client.ts';
import { printConditions, whole } from '../report.ts';
import { type BesideRun, measureBeside, type Placement } from './beside-channels.ts';
import { type DeliverPinning, findDeliverPinning } from './deliver-pinning.ts';
import { printApns, printBeside, printKind, printMillion, printRun } from './deliver-report.ts';
import { type DeliverSite, openSite } from './deliver-site.ts';
import { type DeliveryRun, deliverOnce } from './delivery-run.ts';
import { runTask } from './one-task.ts';
import { leastDisturbed, quiet } from './quiet.ts';
import type { CeilingTask } from './sink-ceiling.ts';

const help = `Measures how fast publishes reach their devices: the real server, with a gateway on this machine that takes
whatever it is sent. Beside it, for APNs, a bare client that sends the same requests with fetch.

npm run bench:push -- [options]

  --only PARTS     some of apns, web, fcm, channels, million, with commas (apns,web,fcm,channels)
  --million        the same as adding million: a publish to 1,000,000 devices
  --devices N      to publish to (200000)
  --runs N         how often each figure is measured (3)
  --seconds N      how long channels are watched beside publishes, each time (6)
  --json FILE      write the results there as well
  --help           print this
`;

const parts = ['apns', 'web', 'fcm', 'channels', 'million'] as const;
type PartName = (typeof parts)[number];

interface Options {
  readonly only: ReadonlySet<PartName>;
  readonly devices: number;
  readonly runs: number;
  readonly seconds: number;
  readonly json: string | undefined;
}

/** Requests of a bare client at a time. */
const CLIENT_AT_ONCE = 200;

/** Instances that share the devices in the second figure: the work of several publishes at the same time. */
const INSTANCES = 4;

/** Approaching FCM's quota takes a minute, in which 330,000 go out. */
const FCM_DEVICES = 420_000;

const MILLION = 1_000_000;

const placements: readonly Placement[] = ['one core', 'a core each'];

function readOptions(args: string[]): Options | 'help' | { readonly why: string } {
  try {
    const { values } = parseArgs({
      args,
      options: {
        only: { type: 'string', default: 'apns,web,fcm,channels' },
        million: { type: 'boolean', default: false },
        devices: { type: 'string', default: '200000' },
        runs: { type: 'string', default: '3' },
        seconds: { type: 'string', default: '6' },
        json: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) return 'help';
    const names = values.only.split(',');
    const only = new Set(parts.filter((part) => names.includes(part)));
    if (only.size < new Set(names).size) return { why: `--only takes some of ${parts.join(',')}` };
    if (values.million) only.add('million');
    const [devices, runs, seconds] = [values.devices, values.runs, values.seconds].map(Number);
    if (!isWhole(devices, 1000)) return { why: '--devices takes a number from 1000' };
    if (!isWhole(runs, 1)) return { why: '--runs takes a number from 1' };
    if (!isWhole(seconds, 1)) return { why: '--seconds takes a number from 1' };
    return { only, devices, runs, seconds, json: values.json };
  } catch (error) {
    // What a person typed; the message is written for that person.
    return { why: error instanceof Error ? error.message : String(error) };
  }
}

function isWhole(value: number | undefined, least: number): value is number {
  return value !== undefined && Number.isInteger(value) && value >= least;
}

/** What the parts have in common. */
interface Trial extends Options {
  readonly pinning: DeliverPinning;
}

async function deliver({ pinning }: Trial, name: string, site: DeliverSite): Promise<DeliveryRun> {
  const once = async () => {
    const run = await deliverOnce(pinning.server, site);
    console.error(printRun(name, run));
    return run;
  };
  return await leastDisturbed(once, ({ cpu }) => cpu.others);
}

async function measureCeiling({ pinning }: Trial, { gateway }: DeliverSite): Promise<number> {
  const { origin, ca } = gateway;
  const task: CeilingTask = {
    origin,
    ca,
    connections: 4,
    atOnce: 2000,
    bodyBytes: 300,
    seconds: 2,
  };
  return await runTask<number>(pinning.server, 'sink-ceiling.ts', task);
}

/** Runs all in turn, so that what changes on this machine meanwhile meets all of them. */
async function runApns(trial: Trial): Promise<object> {
  const { pinning, devices, runs } = trial;
  await using one = await openSite(pinning.gateway, { kind: 'apns', devices, instances: 1 });
  await using several = await openSite(pinning.gateway, {
    kind: 'apns',
    devices,
    instances: INSTANCES,
  });
  const ceiling = await measureCeiling(trial, one);
  console.log(`\nthe gateway takes ${whole(ceiling)} notifications/s`);
  const client = async (kind: ClientKind): Promise<ClientResult> => {
    const { origin, ca } = one.gateway;
    const task: ClientTask = { kind, origin, ca, requests: devices, atOnce: CLIENT_AT_ONCE };
    await quiet();
    const result = await runTask<ClientResult>(pinning.server, '../http2/client.ts', task);
    console.error(`${kind}: ${whole(result.perSecond)}/s`);
    return result;
  };

  const bare: { fetch: ClientResult[]; gateway: ClientResult[] } = { fetch: [], gateway: [] };
  const fanfare = new Map<number, DeliveryRun[]>([
    [1, []],
    [INSTANCES, []],
  ]);
  for (let run = 1; run <= runs; run += 1) {
    bare.fetch.push(await client('fetch'));
    bare.gateway.push(await client('gateway'));
    fanfare.get(1)?.push(await deliver(trial, 'apns, 1 publish', one));
    fanfare.get(INSTANCES)?.push(await deliver(trial, `apns, ${INSTANCES} publishes`, several));
  }
  console.log(`\n${printApns(devices, { ...bare, fanfare })}`);
  return { part: 'apns', devices, ceiling, ...bare, fanfare: Object.fromEntries(fanfare) };
}

async function runKind(trial: Trial, kind: 'web' | 'fcm'): Promise<object> {
  const { pinning, runs } = trial;
  const devices = kind === 'fcm' ? Math.max(FCM_DEVICES, trial.devices) : trial.devices;
  await using site = await openSite(pinning.gateway, { kind, devices, instances: 1 });
  const ceiling = kind === 'fcm' ? undefined : await measureCeiling(trial, site);
  if (ceiling !== undefined) console.log(`\nthe gateway takes ${whole(ceiling)} notifications/s`);
  const measured: DeliveryRun[] = [];
  for (let run = 1; run <= runs; run += 1) measured.push(await deliver(trial, kind, site));
  console.log(`\n${printKind(kind, measured)}`);
  return { part: kind, devices, ceiling, runs: measured };
}

async function runMillion({ pinning }: Trial): Promise<object> {
  const size = { kind: 'apns', devices: MILLION, instances: 1 } as const;
  await using site = await openSite(pinning.gateway, size);
  const run = await deliverOnce(pinning.server, site);
  console.log(`\n${printMillion('apns', run)}`);
  return { part: 'million', run };
}

async function runChannels({ pinning, devices, runs, seconds }: Trial): Promise<object> {
  // Each of them has so many that one publish takes longer than the channels are watched.
  const size = { kind: 'apns', devices: devices * INSTANCES, instances: INSTANCES } as const;
  await using site = await openSite(pinning.gateway, size);
  const measured: BesideRun[] = [];
  for (let run = 1; run <= runs; run += 1) {
    for (const placement of placements) {
      const beside = await measureBeside(pinning, site, placement, seconds);
      const p99s = beside.steps.map(({ step }) => step.p99Ms.toFixed(1)).join(', ');
      console.error(`channels, ${placement}, run ${run}: p99 ${p99s} ms`);
      measured.push(beside);
    }
  }
  for (const placement of placements) {
    const those = measured.filter((run) => run.placement === placement);
    console.log(`\n${printBeside(placement, those)}`);
  }
  return { part: 'channels', devices: size.devices, runs: measured };
}

const measure: Readonly<Record<PartName, (trial: Trial) => Promise<object>>> = {
  apns: runApns,
  web: (trial) => runKind(trial, 'web'),
  fcm: (trial) => runKind(trial, 'fcm'),
  channels: runChannels,
  million: runMillion,
};

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  if (options === 'help') {
    console.log(help);
    return 0;
  }
  if ('why' in options) {
    console.error(`bench:push: ${options.why}\nTry --help.`);
    return 2;
  }
  const pinning = findDeliverPinning();
  const conditions = describeConditions(pinning.description);
  console.log(printConditions(conditions));
  const results: object[] = [];
  for (const part of options.only) results.push(await measure[part]({ ...options, pinning }));
  if (options.json !== undefined) {
    await writeFile(options.json, `${JSON.stringify({ conditions, results }, null, 2)}\n`);
  }
  return 0;
}

// So that what was started is stopped, and what was made is removed.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => process.exit(1));
}
process.exitCode = await main();

import { align, median, ratio, spread, tenths, verdict, whole } from '../../report.ts';
import type { DeliveryRun } from '../delivery-run.ts';
import { type BroadcastRun, singleSeconds } from './broadcast-run.ts';
import type { PlanningResult } from './planning-task.ts';

/** The limits of the ratios, and of the seconds that a publish to a single device takes meanwhile. */
const MEMORY_RATIO_MAX = 1.15;
const BESIDE_RATIO_MAX = 1.03;
const MANNERS_RATIO_MAX = 1.15;
const SINGLE_SECONDS_MAX = 2;

const MIB = 1024 * 1024;

/** Processor time of the server for one notification, in microseconds. */
export function serverUsEach({ cpu, devices }: DeliveryRun): number {
  return (cpu.serverSeconds * 1e6) / devices;
}

/** Prints one run on one line, as progress. */
export function printBroadcast(run: BroadcastRun): string {
  const { devices, publishes, seconds, peakBytes, serverUsEach: us } = run;
  return `${publishes} × ${whole(devices)} devices: ${tenths(seconds)} s, ${tenths(us)} µs each, at most ${whole(peakBytes / MIB)} MiB`;
}

/** The last run is the large one. */
export function printMemory(runs: readonly BroadcastRun[]): string {
  const rows = runs.map((run) => [
    String(run.publishes),
    whole(run.devices),
    whole(run.bytesBefore / MIB),
    whole(run.peakBytes / MIB),
    tenths(run.seconds),
    tenths(run.serverUsEach),
    run.singleMs.length === 0 ? '' : singleSeconds(run).toFixed(2),
    String(run.singleMs.length),
  ]);
  const [few, many] = [runs.at(0), runs.at(-1)];
  const found = (many?.peakBytes ?? Number.NaN) / (few?.peakBytes ?? Number.NaN);
  const single = many === undefined ? Number.NaN : singleSeconds(many);
  const max = ratio(MEMORY_RATIO_MAX);
  return [
    'memory of the server, and publishes to a single device meanwhile',
    ...align([
      [
        'publishes',
        'devices',
        'MiB before',
        'MiB at most',
        'seconds',
        'server µs each',
        'single s',
        'of',
      ],
      ...rows,
    ]),
    verdict(`memory ${ratio(found)} <= ${max}`, found <= MEMORY_RATIO_MAX),
    verdict(`a single device <= ${SINGLE_SECONDS_MAX} s`, single <= SINGLE_SECONDS_MAX),
  ].join('\n');
}

export interface Costs {
  readonly plain: readonly number[];
  /** With a cap, texts and quiet hours. */
  readonly manners: readonly number[];
  /** Another version, without these; empty if none is compared. */
  readonly other?: readonly number[];
}

export function printCosts(devices: number, { plain, manners, other = [] }: Costs): string {
  const row = (name: string, us: readonly number[]) => [
    name,
    tenths(median(us)),
    spread(us, tenths),
  ];
  const mannersRatio = median(manners.map((us, index) => us / (plain[index] ?? Number.NaN)));
  const besideRatio = median(plain.map((us, index) => us / (other[index] ?? Number.NaN)));
  return [
    `processor time of the server for each of ${whole(devices)} notifications, µs`,
    ...align([
      ['', 'median', 'spread'],
      row('plain', plain),
      row('with cap, texts and quiet hours', manners),
      ...(other.length === 0 ? [] : [row('the other version', other)]),
    ]),
    verdict(
      `manners ${ratio(mannersRatio)} <= ${ratio(MANNERS_RATIO_MAX)}`,
      mannersRatio <= MANNERS_RATIO_MAX,
    ),
    ...(other.length === 0
      ? []
      : [
          verdict(
            `beside the other version ${ratio(besideRatio)} <= ${ratio(BESIDE_RATIO_MAX)}`,
            besideRatio <= BESIDE_RATIO_MAX,
          ),
        ]),
  ].join('\n');
}

/** By store. */
export function printPlanning(found: Readonly<Record<string, readonly PlanningResult[]>>): string {
  const row = (name: string, runs: readonly PlanningResult[], figure: Figure) => {
    const perMillion = runs.map((one) => ((one[figure] ?? Number.NaN) * 1e6) / one.devices);
    return [name, median(perMillion).toFixed(2), spread(perMillion, ratio)];
  };
  const rows = Object.entries(found).flatMap(([store, runs]) => [
    row(`${store}: seconds`, runs, 'seconds'),
    row(`${store}: cpu of the server`, runs, 'cpuSeconds'),
    ...(runs[0]?.databaseCpuSeconds === undefined
      ? []
      : [row(`${store}: cpu of the database`, runs, 'databaseCpuSeconds')]),
  ]);
  return [
    'planning: reading the audience, per million devices',
    ...align([['', 'median', 'spread'], ...rows]),
  ].join('\n');
}

type Figure = 'seconds' | 'cpuSeconds' | 'databaseCpuSeconds';

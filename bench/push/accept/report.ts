import { type Compared, notes, othersIn, ratiosOf } from '../../beside-floor.ts';
import { align, median, percent, ratio, spread, tenths, verdict, whole } from '../../report.ts';
import type { Kept } from './kept.ts';
import type { Run } from './load.ts';
import type { Kind } from './requests.ts';

/** One run, and the contents of the store after it; `undefined` if there is no store. */
export interface CheckedRun extends Run {
  readonly kept: Kept | undefined;
}

/** Something to accept, and how much of it one core should. */
export interface Duty {
  readonly kind: Kind;
  readonly perSecondMin: number;
  /** The share of the floor's figure that Fanfare should reach, if there is such a target. */
  readonly ratioMin: number | undefined;
}

export const duties: readonly Duty[] = [
  { kind: 'publishes', perSecondMin: 6000, ratioMin: 0.4 },
  { kind: 'registrations', perSecondMin: 5000, ratioMin: undefined },
];

/** CPU time of the server per answer, which depends less on other processes than the rate. */
function serverUsEach({ cpu, perSecond }: Run): number {
  return ((cpu?.server ?? Number.NaN) * 1e6) / perSecond;
}

/** Prints one run on one line, as progress. */
export function printRun(kind: Kind, server: string, run: Run): string {
  const { perSecond, p50Ms, p99Ms, cpu, loadCpu, answers } = run;
  return (
    `${kind}, ${server}: ${whole(perSecond)}/s, p50 ${tenths(p50Ms)}, p99 ${tenths(p99Ms)} ms, ` +
    `CPU: server ${percent(cpu?.server ?? Number.NaN)}, load ${percent(loadCpu)}, ` +
    `others ${percent(othersIn(run))}; ` +
    `${whole(answers)} answers in all`
  );
}

/** The table of one task, and the results of its targets. */
export function printDuty(duty: Duty, name: string, compared: Compared<CheckedRun>): string {
  const { kind } = duty;
  const { server, floor } = compared;
  const row = (label: string, runs: readonly Run[]) => {
    const rates = runs.map((run) => run.perSecond);
    return [
      label,
      whole(median(rates)),
      spread(rates, whole),
      tenths(median(runs.map((run) => run.p50Ms))),
      tenths(median(runs.map((run) => run.p99Ms))),
      tenths(Math.max(...runs.map((run) => run.maxMs))),
      percent(median(runs.map(({ cpu }) => cpu?.server ?? Number.NaN))),
      tenths(median(runs.map(serverUsEach))),
      percent(median(runs.map((run) => run.loadCpu))),
    ];
  };
  const ratios = ratiosOf(compared, (run) => run.perSecond);
  return [
    `${kind} accepted per second, ${server.length} runs`,
    ...align([
      ['', 'median', 'spread', 'p50 ms', 'p99', 'max', 'server CPU', 'µs each', 'load CPU'],
      row('floor', floor),
      row(name, server),
      ['ratio', ratio(median(ratios)), spread(ratios, ratio)],
    ]),
    ...judged(duty, server, median(ratios)),
    ...notes([...server, ...floor]),
  ].join('\n');
}

/** The results of the targets, for a server that stores what it accepts. */
function judged(
  { perSecondMin, ratioMin }: Duty,
  server: readonly CheckedRun[],
  found: number,
): string[] {
  const kept = server.flatMap((run) => run.kept ?? []);
  if (kept.length === 0) return [];
  const stored = kept.reduce((total, run) => total + run.stored, 0);
  const isFast = median(server.map((run) => run.perSecond)) >= perSecondMin;
  return [
    verdict(`>= ${whole(perSecondMin)}/s`, isFast),
    ...(ratioMin === undefined ? [] : [verdict(`ratio >= ${ratio(ratioMin)}`, found >= ratioMin)]),
    `${whole(stored)} answers with an id each; as many in the store after kill -9, none lost and none twice`,
  ];
}

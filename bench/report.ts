import type { Comparison, FanOutFigure, TriedStep } from './fan-out/comparison.ts';
import { P99_MS_MAX } from './fan-out/fan-outs.ts';
import type { Conditions } from './machine/conditions.ts';

/** From this share of its core on, the load generator may have been the bottleneck. */
export const LOAD_BOUND_SHARE = 0.97;

export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}

/** The ratio of each run of the server to the floor's run next to it. */
export function ratios({ floor, server }: Comparison): number[] {
  return server.runs.map((run, index) => {
    const base = floor.runs[index]?.deliveriesPerSecond ?? 0;
    return base === 0 ? 0 : run.deliveriesPerSecond / base;
  });
}

export const whole = (number: number): string => Math.round(number).toLocaleString('en');
export const ratio = (number: number): string => number.toFixed(2);
/** With one digit: milliseconds or microseconds. Empty for a number that is not known. */
export const tenths = (number: number): string => (Number.isNaN(number) ? '' : number.toFixed(1));
export const percent = (share: number): string =>
  Number.isNaN(share) ? '' : `${whole(share * 100)} %`;

type Print = (number: number) => string;

export function spread(numbers: readonly number[], print: Print): string {
  return `${print(Math.min(...numbers))} – ${print(Math.max(...numbers))}`;
}

export function printConditions(conditions: Conditions): string {
  const { cpu, cores, kernel, congestionControl, bun, loadAverage, pinning, commit } = conditions;
  return (
    `${cpu}, ${cores} cores, Linux ${kernel} with ${congestionControl}, Bun ${bun}; ${pinning}\n` +
    `load average ${loadAverage.toFixed(2)} before, commit ${commit ?? 'unknown'}`
  );
}

/** Prints one step on one line, as progress. */
export function printStep(server: string, { result, cpu, isHeld }: TriedStep): string {
  const { missing, duplicated, refused, lost } = result;
  const faults = Object.entries({ missing, duplicated, refused, lost })
    .filter(([, count]) => count > 0)
    .map(([fault, count]) => `, ${whole(count)} ${fault}`);
  return [
    `  ${server} ${isHeld ? 'held  ' : 'failed'} ${whole(result.publishesPerSecond)}/s: `,
    `p50 ${tenths(result.p50Ms)}, p99 ${tenths(result.p99Ms)}, max ${tenths(result.maxMs)} ms, `,
    `sent ${tenths(result.pacingP99Ms)} ms late, ${result.framesPerRead.toFixed(1)} per read, `,
    `load busy ${percent(result.busyShare)}`,
    cpu === undefined ? '' : `, CPU: server ${percent(cpu.server)}, others ${percent(cpu.others)}`,
    result.cutShort ? ', cut short' : '',
    ...faults,
    result.firstRefusal === '' ? '' : ` (${result.firstRefusal.split('\r\n')[0]})`,
  ].join('');
}

/** The columns of the table in addition to each server's figure: of the best step in the median run. */
const columns: readonly (readonly [
  head: string,
  print: (step: TriedStep) => number,
  unit: Print,
])[] = [
  ['events/s', ({ result }) => result.publishesPerSecond, whole],
  ['p50 ms', ({ result }) => result.p50Ms, tenths],
  ['p99', ({ result }) => result.p99Ms, tenths],
  ['p99.9', ({ result }) => result.p999Ms, tenths],
  ['max', ({ result }) => result.maxMs, tenths],
  ['per read', ({ result }) => result.framesPerRead, tenths],
  ['server CPU', ({ cpu }) => cpu?.server ?? Number.NaN, percent],
  ['load busy', ({ result }) => result.busyShare, percent],
];

/** The table of one scenario. */
export function printComparison(comparison: Comparison): string {
  const { scenario, floor, server } = comparison;
  const rows = [floor, server].map(({ server: name, runs }) => {
    const figures = runs.map((run) => run.deliveriesPerSecond);
    const best = runs.flatMap((run) => run.best ?? []);
    return [
      name,
      whole(median(figures)),
      spread(figures, whole),
      ...columns.map(([, read, print]) => (best.length === 0 ? '' : print(median(best.map(read))))),
    ];
  });
  const each = ratios(comparison);
  return [
    `${scenario.name}: ${scenario.description}`,
    `deliveries/s at which as many steps as not have a p99 <= ${P99_MS_MAX} ms, ${each.length} runs; the rest is of a step that had`,
    ...align([
      ['', 'median', 'spread', ...columns.map(([head]) => head)],
      ...rows,
      ['ratio', ratio(median(each)), spread(each, ratio)],
    ]),
    ...joins(comparison),
    verdict(`ratio >= ${ratio(scenario.ratioMin)}`, median(each) >= scenario.ratioMin),
    ...notes(comparison),
  ].join('\n');
}

/** A line with a target, and whether it was reached. */
export function verdict(target: string, isReached: boolean): string {
  return `target: ${target}, ${isReached ? 'reached' : 'missed'}`;
}

/** Half of the events of a presence channel are answered as well. */
function joins({ scenario, server }: Comparison): string[] {
  if (scenario.load.eventSource !== 'member-changes') return [];
  const each = server.runs.map((run) => run.publishesPerSecond / 2);
  return [
    `joins/s, each answered with the roster: ${whole(median(each))} (${spread(each, whole)})`,
  ];
}

/** What may have distorted the figures. */
function notes({ floor, server }: Comparison): string[] {
  const runs = [...floor.runs, ...server.runs];
  const sum = (pick: (run: FanOutFigure) => number) =>
    runs.reduce((total, run) => total + pick(run), 0);
  const repeated = sum((run) => run.repeated);
  const disturbed = sum((run) => run.disturbed);
  const isLoadBound = runs.some((run) => (run.best?.result.busyShare ?? 0) > LOAD_BOUND_SHARE);
  return [
    repeated > 0
      ? [`note: ${repeated} failed steps were repeated, since others used this machine`]
      : [],
    disturbed > 0 ? [`note: ${disturbed} more counted as failed, so the figures are too low`] : [],
    isLoadBound ? ['note: the load generator had no time left and may be what was measured'] : [],
  ].flat();
}

export function align(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  return rows.map((row) =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  '),
  );
}

import { align, median, ratio, spread, tenths } from '../report.ts';
import { type ClusterComparison, FLOWS, type Version } from './beside.ts';

const FIGURES = ['redis', 'publishing', 'hearing', 'p50Ms'] as const;
const NAMES = {
  redis: 'Redis, CPU µs',
  publishing: 'who publishes, CPU µs',
  hearing: 'who hears, CPU µs',
  p50Ms: 'p50 ms',
};

/** The table of a comparison: processor time of one event, and of latency the median. */
export function printBeside({ flows, otherName, threads }: ClusterComparison): string {
  const lines = [
    `cluster: one event over Redis, in turns; realtime threads of a server: ${threads}`,
  ];
  for (const [flow, name] of Object.entries(FLOWS) as [keyof typeof FLOWS, string][]) {
    const rows = FIGURES.flatMap((figure) => {
      const of = (version: Version) =>
        flows[flow][version].map((found) => found[figure] ?? Number.NaN);
      const [own, others] = [of('this'), of('other')];
      if (own.some(Number.isNaN)) return [];
      const ratios = own.map((found, round) => found / (others[round] ?? Number.NaN));
      const figures = [tenths(median(own)), tenths(median(others))];
      return [[NAMES[figure], ...figures, ratio(median(ratios)), spread(ratios, ratio)]];
    });
    lines.push(name, ...align([['', 'this version', otherName, 'ratio', 'spread'], ...rows]), '');
  }
  return lines.join('\n').trimEnd();
}

import { type CpuUsage, OTHERS_MAX } from './machine/cpu-usage.ts';
import { LOAD_BOUND_SHARE, median, ratio, spread, verdict } from './report.ts';
import type { Role } from './servers.ts';

/** Processor time while something ran, in cores. */
export interface Spent {
  /** The load's own. */
  readonly loadCpu: number;
  /** `undefined` if the server is not a process of this benchmark. */
  readonly cpu: CpuUsage | undefined;
}

/** All runs of the server and of the floor. Runs of the same index were made together. */
export type Compared<Run> = Readonly<Record<Role, readonly Run[]>>;

/** Measures server and floor alternately, so that changes of the machine's load affect both. */
export async function inTurn<Run>(
  runs: number,
  measure: (role: Role, run: number) => Promise<Run>,
): Promise<Compared<Run>> {
  const found: Record<Role, Run[]> = { server: [], floor: [] };
  for (let run = 1; run <= runs; run += 1) {
    for (const role of ['server', 'floor'] as const) found[role].push(await measure(role, run));
  }
  return found;
}

/** One figure of each run of the server, divided by that of the floor's run next to it. */
export function ratiosOf<Run>(
  { server, floor }: Compared<Run>,
  figure: (run: Run) => number,
): number[] {
  return server.map((run, index) => {
    const beside = floor[index];
    return beside === undefined ? Number.NaN : figure(run) / figure(beside);
  });
}

/** Other processes' share of the machine during a run. Unknown for a server that this benchmark did not start. */
export function othersIn({ cpu }: Spent): number {
  return cpu?.others ?? 0;
}

/** A row of the table with the ratios of all pairs of runs, and whether the target is reached. */
export function printRatios(
  label: string,
  each: readonly number[],
  target: { readonly ratioMin: number } | { readonly ratioMax: number },
): { readonly row: readonly string[]; readonly verdict: string } {
  const found = median(each);
  const [sign, limit, isReached] =
    'ratioMin' in target
      ? ['>=', target.ratioMin, found >= target.ratioMin]
      : ['<=', target.ratioMax, found <= target.ratioMax];
  return {
    row: [label, ratio(found), spread(each, ratio)],
    verdict: verdict(`${label} ${sign} ${ratio(limit)}`, isReached),
  };
}

/** What may have distorted the figures. */
export function notes(runs: readonly Spent[]): string[] {
  const disturbed = runs.filter((run) => othersIn(run) > OTHERS_MAX).length;
  return [
    runs.some((run) => run.loadCpu > LOAD_BOUND_SHARE)
      ? ['note: the load generator had no CPU left and may be what was measured']
      : [],
    disturbed > 0 ? [`note: in ${disturbed} runs others used this machine`] : [],
  ].flat();
}

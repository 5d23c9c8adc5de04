import { join } from 'node:path';
import type { Pinning } from '../machine/cores.ts';
import { OTHERS_MAX } from '../machine/quiet.ts';
import { runTask } from '../machine/run-task.ts';
import { median, ratio, spread } from '../report.ts';
import type { Contender, RunningServer } from '../servers.ts';
import type { LoadResults, LoadTask, Spent } from './load.ts';

/** From this share of its core on, the load generator may be what was measured. */
const LOAD_BOUND_SHARE = 0.97;

/** The server that is measured, and the floor beside it. */
export interface Contenders {
  readonly server: Contender;
  readonly floor: Contender;
}

/** All runs of both. Runs of the same index were made together. */
export interface Compared<Run> {
  readonly server: readonly Run[];
  readonly floor: readonly Run[];
}

/** Hears what happens, for whoever watches. */
export type Tell = (line: string) => void;

/** Measures server and floor in turn, so that what changes on this machine meanwhile meets both. */
export async function inTurn<Run>(
  contenders: Contenders,
  runs: number,
  measure: (contender: Contender, run: number) => Promise<Run>,
): Promise<Compared<Run>> {
  const found: Record<keyof Contenders, Run[]> = { server: [], floor: [] };
  for (let run = 1; run <= runs; run += 1) {
    for (const role of ['server', 'floor'] as const) {
      found[role].push(await measure(contenders[role], run));
    }
  }
  return found;
}

/** Starts a server and lets the load do one task with it. */
export async function onFreshServer<Result>(
  pinning: Pinning,
  contender: Contender,
  perform: (server: RunningServer) => Promise<Result>,
): Promise<Result> {
  await using server = await contender.start(pinning.server);
  return await perform(server);
}

/** Has one task done by a load process of its own. */
export async function load<Name extends LoadTask['name']>(
  pinning: Pinning,
  task: LoadTask & { readonly name: Name },
): Promise<LoadResults[Name]> {
  return await runTask<LoadResults[Name]>(pinning.load, join(import.meta.dir, 'load.ts'), task);
}

/** Others' share of the machine during a run; nobody can say what it is beside a server that is not ours. */
export function othersIn({ cpu }: Spent): number {
  return cpu?.others ?? 0;
}

/** A row of the table with the ratios of all pairs of runs, and whether they are what was asked for. */
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
    verdict: `target: ${label} ${sign} ${ratio(limit)}, ${isReached ? 'reached' : 'missed'}`,
  };
}

/** What takes away from the figures. */
export function notes(runs: readonly Spent[]): string[] {
  const disturbed = runs.filter((run) => othersIn(run) > OTHERS_MAX).length;
  return [
    runs.some((run) => run.loadCpu > LOAD_BOUND_SHARE)
      ? ['note: the load generator had no CPU left and may be what was measured']
      : [],
    disturbed > 0 ? [`note: in ${disturbed} runs others used this machine`] : [],
  ].flat();
}

import type { CheckedOut } from '../../testing/servers/checked-out.ts';
import { inRounds } from '../in-rounds.ts';
import { startLoad } from '../load-calls.ts';
import { type UsedSeconds, usedSecondsOf } from '../machine/cpu-usage.ts';
import { align, median, ratio, spread, tenths } from '../report.ts';
import type { Bench } from '../scenario.ts';
import { startFanfare } from '../servers.ts';
import type { Loaded, Work } from './works.ts';

const ROUND_SECONDS = 1.5;
/** Rounds of each version with one start of both: first those that warm up, then those that count. */
const WARM_UP_ROUNDS = 3;
const ROUNDS = 8;
const ROUNDS_QUICK = 4;

const versions = ['this', 'other'] as const;
type Version = (typeof versions)[number];

/** Processor time of the server for one piece, in microseconds. */
export type PieceUs = UsedSeconds;

/** One work for both versions. Rounds of the same index followed one another. */
export interface VersionComparison extends Readonly<Record<Version, readonly PieceUs[]>> {
  readonly work: Pick<Work, 'name' | 'description' | 'piece'>;
  readonly otherName: string;
  /** Settings of the work that the other version does not know. */
  readonly settingsLeftOut: readonly string[];
}

/**
 * Compares the processor time of this version with that of another. Both run all the time, with one realtime thread
 * each on the same core. They work in turns, and the order of the turns alternates, so that changes on this machine
 * affect both. Of processor time other processes change less than of rates and latency.
 */
export async function compareVersions(
  bench: Pick<Bench, 'pinning' | 'effort' | 'isQuick' | 'log'>,
  work: Work,
  other: CheckedOut,
): Promise<VersionComparison> {
  const all: Record<Version, PieceUs[]> = { this: [], other: [] };
  let settingsLeftOut: readonly string[] = [];
  for (let run = 1; run <= bench.effort.runs; run += 1) {
    await using parts = new AsyncDisposableStack();
    const start = async (clone?: string) => {
      const options = { app: work.app, threads: 1, clone };
      const server = parts.use(await startFanfare(bench.pinning.server, options));
      const load = parts.use(startLoad(bench.pinning.load));
      const loaded = { server, load, pinning: bench.pinning };
      await work.prepare?.(loaded);
      return loaded;
    };
    const loaded = { this: await start(), other: await start(other.folder) };
    settingsLeftOut = loaded.other.server.settingsLeftOut;
    const measure = (version: Version) => measureRound(work, loaded[version]);
    await inRounds(WARM_UP_ROUNDS, versions, measure);
    const found = await inRounds(bench.isQuick ? ROUNDS_QUICK : ROUNDS, versions, measure);
    for (const version of versions) all[version].push(...found[version]);
    const own = median(ratiosOfPairs(found, 'mainThread'));
    bench.log(`${work.name}, run ${run}: ${ratio(own)} of the main thread of ${other.name}`);
  }
  return { ...all, work, otherName: other.name, settingsLeftOut };
}

async function measureRound(work: Work, loaded: Loaded): Promise<PieceUs> {
  const { pid } = loaded.server;
  const before = usedSecondsOf(pid);
  const pieces = await work.round(loaded, ROUND_SECONDS);
  const after = usedSecondsOf(pid);
  const each = (key: keyof UsedSeconds) => ((after[key] - before[key]) * 1e6) / pieces;
  return { mainThread: each('mainThread'), allThreads: each('allThreads') };
}

/** The ratio of each round of this version to the round of the other one beside it. */
export function ratiosOfPairs(
  rounds: Pick<VersionComparison, Version>,
  figure: keyof PieceUs,
): number[] {
  return rounds.this.map((us, index) => us[figure] / (rounds.other[index]?.[figure] ?? Number.NaN));
}

/** The table of one comparison. */
export function printVersions(comparison: VersionComparison): string {
  const { work, otherName, settingsLeftOut } = comparison;
  const row = (label: string, figure: keyof PieceUs) => {
    const us = (version: Version) => median(comparison[version].map((each) => each[figure]));
    const ratios = ratiosOfPairs(comparison, figure);
    return [
      label,
      tenths(us('this')),
      tenths(us('other')),
      ratio(median(ratios)),
      spread(ratios, ratio),
    ];
  };
  return [
    `${work.name}: ${work.description}`,
    `µs of processor time per ${work.piece}, ${comparison.this.length} pairs of rounds`,
    ...align([
      ['', 'this version', otherName, 'ratio', 'spread'],
      row('main thread', 'mainThread'),
      row('all threads', 'allThreads'),
    ]),
    ...(settingsLeftOut.length === 0
      ? []
      : [`note: ${otherName} does not know the settings ${settingsLeftOut.join(', ')}`]),
  ].join('\n');
}

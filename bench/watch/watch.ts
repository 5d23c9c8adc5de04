import { startUnderLoad, tryStep } from '../fan-out/measure.ts';
import { type ByKey, inRounds } from '../in-rounds.ts';
import type { LoadSize } from '../load/open-loop.ts';
import { OTHERS_MAX } from '../machine/cpu-usage.ts';
import { align, median, ratio, spread, tenths, verdict, whole } from '../report.ts';
import type { Bench } from '../scenario.ts';
import { type FanfareServer, startFanfare } from '../servers.ts';
import { Watchers } from './watchers.ts';

const WATCHERS = [0, 1, 8] as const;
type Count = (typeof WATCHERS)[number];

const TRIGGERS_PER_SECOND = 1000;
const DATA_BYTES = 200;
const LOAD: LoadSize = { crowd: { channels: 1, subscribersEach: 100 }, publishers: 16 };
const WARM_UP_SECONDS = 3;
const SECONDS = 4;
const ROUNDS = 8;
const ROUNDS_QUICK = 3;

const P99_RATIO_MAX = 1.05;
const CPU_RATIO_MAX = 1.15;

interface Run {
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Of the server including its background thread, in cores. */
  readonly cpu: number;
  readonly streamBytesPerSecond: number;
  readonly isDisturbed: boolean;
}

/** The cost of live streams, by the number of readers. */
export type WatchFigures = ByKey<Count, Run>;

/** Measures one server with no, one and eight readers of live streams, in short rounds. */
export async function measureWatch(bench: Bench): Promise<WatchFigures> {
  let server: FanfareServer | undefined;
  await using subject = await startUnderLoad(
    bench,
    {
      name: 'fanfare',
      start: async (pin, app) => {
        server = await startFanfare(pin, { app });
        return server;
      },
    },
    LOAD,
  );
  const running = server;
  if (running === undefined) throw new Error('the server has not started');
  const load = { dataBytes: DATA_BYTES };
  await tryStep(subject, load, TRIGGERS_PER_SECOND, WARM_UP_SECONDS);
  const rounds = bench.isQuick ? ROUNDS_QUICK : ROUNDS;
  return await inRounds(rounds, WATCHERS, async (count): Promise<Run> => {
    await using watchers = await Watchers.open(running, count);
    const step = await tryStep(subject, load, TRIGGERS_PER_SECOND, SECONDS);
    bench.logStep(`${count} watchers`, step);
    const { result, cpu } = step;
    if (cpu === undefined) throw new Error('the server is no process of ours');
    return {
      p50Ms: result.p50Ms,
      p99Ms: result.p99Ms,
      cpu: cpu.server,
      streamBytesPerSecond: watchers.bytes / SECONDS,
      isDisturbed: cpu.others > OTHERS_MAX,
    };
  });
}

export function printWatch(figures: WatchFigures): string {
  const rows = WATCHERS.map((count) => {
    const of = (figure: (run: Run) => number) => figures[count].map(figure);
    return [
      String(count),
      tenths(median(of(({ p50Ms }) => p50Ms))),
      tenths(median(of(({ p99Ms }) => p99Ms))),
      ratio(median(beside(figures, count, ({ p99Ms }) => p99Ms))),
      spread(
        beside(figures, count, ({ p99Ms }) => p99Ms),
        ratio,
      ),
      ratio(median(of(({ cpu }) => cpu))),
      ratio(median(beside(figures, count, ({ cpu }) => cpu))),
      spread(
        beside(figures, count, ({ cpu }) => cpu),
        ratio,
      ),
      whole(median(of(({ streamBytesPerSecond }) => streamBytesPerSecond)) / 1024),
    ];
  });
  const head = ['watchers', 'p50 ms', 'p99', 'ratio', 'of', 'cores', 'ratio', 'of', 'KiB/s read'];
  const verdicts = WATCHERS.filter((count) => count > 0).flatMap((count) => {
    const p99 = median(beside(figures, count, ({ p99Ms }) => p99Ms));
    const cpu = median(beside(figures, count, (run) => run.cpu));
    return [
      verdict(`p99 with ${count} / p99 with 0 <= ${ratio(P99_RATIO_MAX)}`, p99 <= P99_RATIO_MAX),
      verdict(`CPU with ${count} / CPU with 0 <= ${ratio(CPU_RATIO_MAX)}`, cpu <= CPU_RATIO_MAX),
    ];
  });
  const disturbed = Object.values(figures)
    .flat()
    .filter(({ isDisturbed }) => isDisturbed).length;
  return [
    `watch: ${whole(TRIGGERS_PER_SECOND)} triggers per second to one channel of ${LOAD.crowd.subscribersEach}, and readers of live streams`,
    ...align([head, ...rows]),
    ...verdicts,
    ...(disturbed > 0 ? [`note: in ${disturbed} runs others used this machine`] : []),
  ].join('\n');
}

/** One figure of each round, divided by that without watchers in the same round. */
function beside(
  figures: WatchFigures,
  count: Count,
  figure: (run: Run) => number,
): readonly number[] {
  return figures[count].map((run, round) => {
    const base = figures[0][round];
    return base === undefined ? Number.NaN : figure(run) / figure(base);
  });
}

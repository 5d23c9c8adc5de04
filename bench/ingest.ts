import { type CpuUsage, watchCpu } from './cpu-usage.ts';
import type { IntakeResult } from './load/intake.ts';
import { startLoad } from './load-process.ts';
import { leastDisturbed } from './push/quiet.ts';
import {
  align,
  LOAD_BOUND_SHARE,
  median,
  percent,
  ratio,
  spread,
  verdict,
  whole,
} from './report.ts';
import type { Bench } from './scenario.ts';
import type { Contender } from './servers.ts';

const CONNECTIONS = 64;
const EVENTS_EACH = [1, 10];
const DATA_BYTES = 200;
const RATIO_MIN = 0.85;

interface IngestRun {
  readonly result: IntakeResult;
  readonly cpu: CpuUsage | undefined;
}

/** What both took of one kind of request. Runs of the same index were made together. */
export interface Ingest {
  readonly eventsEach: number;
  readonly serverName: string;
  readonly server: readonly IngestRun[];
  readonly floor: readonly IngestRun[];
}

/** Measures how many signed triggers a server takes per second when nobody listens. */
export async function measureIngest(bench: Bench): Promise<Ingest[]> {
  const ingests: Ingest[] = [];
  for (const eventsEach of EVENTS_EACH) {
    const runs: Record<'server' | 'floor', IngestRun[]> = { server: [], floor: [] };
    for (let run = 1; run <= bench.effort.runs; run += 1) {
      for (const role of ['server', 'floor'] as const) {
        const found = await leastDisturbed(
          () => measureOnce(bench, bench[role], eventsEach),
          ({ cpu }) => cpu?.others ?? 0,
        );
        runs[role].push(found);
        const { requestsPerSecond } = found.result;
        bench.tell(
          `ingest, ${eventsEach} each, run ${run}, ${bench[role].name}: ${whole(requestsPerSecond)} requests/s`,
        );
      }
    }
    ingests.push({ eventsEach, serverName: bench.server.name, ...runs });
  }
  return ingests;
}

async function measureOnce(
  { pinning, isQuick }: Bench,
  contender: Contender,
  eventsEach: number,
): Promise<IngestRun> {
  await using running = await contender.start(pinning.server);
  await using load = startLoad(pinning.load);
  const { app, pid } = running;
  const used = pid === undefined ? undefined : watchCpu({ server: pid, load: load.pid });
  const result = await load.call('intake', {
    app,
    connections: CONNECTIONS,
    eventsEach,
    staysAwake: pinning.areApart,
    dataBytes: DATA_BYTES,
    warmupSeconds: 1,
    seconds: isQuick ? 1 : 3,
  });
  if (result.refused > 0) throw new Error(`a trigger was refused: ${result.firstRefusal}`);
  return { result, cpu: used?.() };
}

/** The table of both kinds of request. */
export function printIngest(ingests: readonly Ingest[]): string {
  const rows: string[][] = [];
  const verdicts: string[] = [];
  for (const { eventsEach, serverName, server, floor } of ingests) {
    const what = eventsEach === 1 ? 'single' : `batches of ${eventsEach}`;
    for (const [name, runs] of [
      ['floor', floor],
      [serverName, server],
    ] as const) {
      const each = runs.map(({ result }) => result.requestsPerSecond);
      rows.push([
        `${what}, ${name}`,
        whole(median(each)),
        spread(each, whole),
        whole(median(each) * eventsEach),
        percent(median(runs.map(({ result }) => result.busyShare))),
      ]);
    }
    const ratios = server.map(
      ({ result }, index) =>
        result.requestsPerSecond / (floor[index]?.result.requestsPerSecond ?? Number.NaN),
    );
    rows.push([`${what}, ratio`, ratio(median(ratios)), spread(ratios, ratio)]);
    verdicts.push(verdict(`${what}: ratio >= ${ratio(RATIO_MIN)}`, median(ratios) >= RATIO_MIN));
  }
  const isLoadBound = ingests
    .flatMap(({ server, floor }) => [...server, ...floor])
    .some(({ result }) => result.busyShare > LOAD_BOUND_SHARE);
  return [
    `ingest: signed triggers of ${DATA_BYTES}-byte events that nobody hears, ${CONNECTIONS} connections, closed loop`,
    ...align([['', 'requests/s', 'spread', 'events/s', 'load busy'], ...rows]),
    ...verdicts,
    ...(isLoadBound
      ? ['note: the load generator had no time left and may be what was measured']
      : []),
  ].join('\n');
}

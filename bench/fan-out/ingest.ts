import { ratiosOf } from '../beside-floor.ts';
import type { IntakeResult } from '../load/intake.ts';
import { type LoadProcess, startLoad } from '../load-calls.ts';
import { type CpuUsage, watchCpu } from '../machine/cpu-usage.ts';
import {
  align,
  LOAD_BOUND_SHARE,
  median,
  percent,
  ratio,
  spread,
  verdict,
  whole,
} from '../report.ts';
import type { Bench } from '../scenario.ts';
import type { Role, RunningServer } from '../servers.ts';

export const CONNECTIONS = 64;
export const EVENTS_EACH = [1, 10];
export const DATA_BYTES = 200;
const RATIO_MIN = 0.85;

/** Warm-up: a server that has just started is still compiling. */
const WARM_UP_SECONDS = 3;
/** The measured time of one turn, and the time before it that fills the caches again. */
const TURN_SECONDS = 1;
const AGAIN_SECONDS = 0.2;
/** How many turns each has in one run. */
const TURNS = 8;
const TURNS_QUICK = 3;

interface IngestRun {
  readonly result: IntakeResult;
  readonly cpu: CpuUsage | undefined;
}

/** What both accepted of one kind of request. Turns of the same index followed one another. */
export interface Ingest {
  readonly eventsEach: number;
  readonly serverName: string;
  readonly server: readonly IngestRun[];
  readonly floor: readonly IngestRun[];
}

/** A running server and its load. */
interface Taker {
  readonly role: Role;
  readonly running: RunningServer;
  readonly load: LoadProcess;
}

/** Measures how many signed triggers per second a server can handle without subscribers. */
export async function measureIngest(bench: Bench): Promise<Ingest[]> {
  const ingests: Ingest[] = [];
  for (const eventsEach of EVENTS_EACH) {
    const runs: Record<Role, IngestRun[]> = { server: [], floor: [] };
    for (let run = 1; run <= bench.effort.runs; run += 1) {
      for (const { role, found } of await measureRun(bench, eventsEach)) {
        runs[role].push(found);
        const { requestsPerSecond } = found.result;
        bench.log(
          `ingest, ${eventsEach} each, run ${run}, ${bench[role].name}: ${whole(requestsPerSecond)} requests/s`,
        );
      }
    }
    ingests.push({ eventsEach, serverName: bench.server.name, ...runs });
  }
  return ingests;
}

/** Both run all the time and take turns, so that changes on this machine affect both. */
async function measureRun(
  bench: Bench,
  eventsEach: number,
): Promise<{ role: Role; found: IngestRun }[]> {
  await using parts = new AsyncDisposableStack();
  const takers: Taker[] = [];
  for (const role of ['server', 'floor'] as const) {
    const running = parts.use(await bench[role].start(bench.pinning.server));
    takers.push({ role, running, load: parts.use(startLoad(bench.pinning.load)) });
  }
  for (const taker of takers) await measureOnce(bench, taker, eventsEach, WARM_UP_SECONDS);
  const found: { role: Role; found: IngestRun }[] = [];
  for (let turn = 0; turn < (bench.isQuick ? TURNS_QUICK : TURNS); turn += 1) {
    // Being second must not be an advantage.
    for (const taker of turn % 2 === 0 ? takers : takers.toReversed()) {
      const measured = await measureOnce(bench, taker, eventsEach, TURN_SECONDS);
      found.push({ role: taker.role, found: measured });
    }
  }
  return found;
}

async function measureOnce(
  { pinning }: Bench,
  { running: { app, pid }, load }: Taker,
  eventsEach: number,
  seconds: number,
): Promise<IngestRun> {
  const used = pid === undefined ? undefined : watchCpu({ server: pid, load: load.pid });
  const result = await load.call('intake', {
    app,
    connections: CONNECTIONS,
    eventsEach,
    staysAwake: pinning.areApart,
    dataBytes: DATA_BYTES,
    warmupSeconds: AGAIN_SECONDS,
    seconds,
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
    const ratios = ratiosOf({ server, floor }, ({ result }) => result.requestsPerSecond);
    rows.push([`${what}, ratio`, ratio(median(ratios)), spread(ratios, ratio)]);
    verdicts.push(verdict(`${what}: ratio >= ${ratio(RATIO_MIN)}`, median(ratios) >= RATIO_MIN));
  }
  const isLoadBound = ingests
    .flatMap(({ server, floor }) => [...server, ...floor])
    .some(({ result }) => result.busyShare > LOAD_BOUND_SHARE);
  return [
    `ingest: signed triggers of ${DATA_BYTES}-byte events without subscribers, ${CONNECTIONS} connections, closed loop`,
    ...align([['', 'requests/s', 'spread', 'events/s', 'load busy'], ...rows]),
    ...verdicts,
    ...(isLoadBound
      ? ['note: the load generator had no time left and may be what was measured']
      : []),
  ].join('\n');
}

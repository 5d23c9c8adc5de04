import { loadavg } from 'node:os';
import type { EvidenceResult } from '../../../testing/evidence/rows.ts';
import type { AppAddress } from '../../bench-app.ts';
import type { StepResult } from '../../load/open-loop.ts';
import { type LoadProcess, startLoad } from '../../load-calls.ts';
import type { Pinning } from '../../machine/cores.ts';
import { countOf } from '../../options.ts';
import { align, median, ratio, tenths } from '../../report.ts';
import { startFanfare } from '../../servers.ts';
import { pinned, scaleCommand } from '../command.ts';
import { type NeighbourKind, neighbourKinds, startNeighbour } from './neighbour.ts';

/** `npm run bench -- neighbours`: how long events of a quiet app take beside a busy one. */

const SIZE = { crowd: { channels: 10, subscribersEach: 10 }, publishers: 4 };
const EVENTS_PER_SECOND = 100;
const EVENT_BYTES = 100;
const WARMUP_SECONDS = 1;
/** A neighbour begins to be busy before, and stays so until after. */
const AROUND_SECONDS = 3;
const NO_LIMIT_MS = 60_000;

const NEIGHBOUR = { id: '2', key: 'neighbour-key', secret: 'neighbour-secret' };

type Beside = 'alone' | NeighbourKind;

interface Run extends StepResult {
  /** What the neighbour did, in words. */
  readonly neighbour: string;
}

type Runs = Readonly<Record<Beside, readonly Run[]>>;

const columns: readonly (readonly [head: string, figure: (run: Run) => number])[] = [
  ['p50 ms', ({ p50Ms }) => p50Ms],
  ['p99', ({ p99Ms }) => p99Ms],
  ['p99.9', ({ p999Ms }) => p999Ms],
];

export const neighbours = scaleCommand({
  name: 'neighbours',
  about: `How long the events of a quiet app take from when they are due until they are read: alone, and beside another app of the same
server that is hot (300 events/s to 1,000 subscribers), connects all the time (200 at once), or has clients that do not read.
The quiet app triggers 100 events/s to channels of 10. Alone and beside each neighbour in turns, so the ratio is the figure
to read.`,
  options: {
    seconds: { type: 'string', default: '20' },
    runs: { type: 'string', default: '3' },
  },
  help: [
    ['--seconds N', 'of each measurement (20)'],
    ['--runs N', 'of each (3)'],
  ],
  async measure(values, record) {
    const seconds = countOf(values.seconds, { option: '--seconds', min: 1 });
    const count = countOf(values.runs, { option: '--runs', min: 1 });
    const pinning = pinned();
    const load = loadavg()[0] ?? 0;
    const runs = await measure(pinning, { seconds, runs: count });
    console.log(`\n${print(runs)}`);
    record(evidenceOf(runs, { seconds, load }));
    return { figures: { load, runs } };
  },
});

interface Effort {
  readonly seconds: number;
  readonly runs: number;
}

async function measure(pinning: Pinning, { seconds, runs }: Effort): Promise<Runs> {
  await using server = await startFanfare(pinning.server, {
    // It warns of each client that does not read.
    logLevel: 'error',
    otherApps: [
      {
        id: NEIGHBOUR.id,
        name: 'neighbour',
        keys: [{ key: NEIGHBOUR.key, secret: NEIGHBOUR.secret }],
      },
    ],
  });
  const { app } = server;
  await using quiet = startLoad(pinning.load);
  await quiet.call('connect', { app, staysAwake: false, ...SIZE });
  const found: Record<Beside, Run[]> = {
    alone: [],
    hot: [],
    connecting: [],
    'slow-reading': [],
  };
  for (let run = 1; run <= runs; run += 1) {
    found.alone.push({ ...(await step(quiet, seconds)), neighbour: '' });
    for (const kind of neighbourKinds) {
      const beside = await besideNeighbour(pinning, { kind, app, quiet, seconds });
      console.error(`run ${run}, ${kind}: p99 ${tenths(beside.p99Ms)} ms; ${beside.neighbour}`);
      found[kind].push(beside);
    }
  }
  return found;
}

const step = (quiet: LoadProcess, seconds: number): Promise<StepResult> =>
  quiet.call('step', {
    publishesPerSecond: EVENTS_PER_SECOND,
    warmupSeconds: WARMUP_SECONDS,
    seconds,
    dataBytes: EVENT_BYTES,
    limitMs: NO_LIMIT_MS,
  });

async function besideNeighbour(
  pinning: Pinning,
  {
    kind,
    app,
    quiet,
    seconds,
  }: {
    readonly kind: NeighbourKind;
    readonly app: AppAddress;
    readonly quiet: LoadProcess;
    readonly seconds: number;
  },
): Promise<Run> {
  // Both share a core; the quiet one must not wait for the processor when something arrives for it.
  await using busy = startNeighbour(['nice', '-n', '15', ...pinning.load]);
  const neighbour = { host: app.host, port: app.port, appId: NEIGHBOUR.id, ...NEIGHBOUR };
  const being = busy.call(kind, { app: neighbour, seconds: seconds + 2 * AROUND_SECONDS });
  await Bun.sleep(AROUND_SECONDS * 1000);
  const result = await step(quiet, seconds);
  return { ...result, neighbour: await being };
}

/** What is wrong with a run, in words; empty: nothing. */
function faultsOf(runs: readonly Run[]): string {
  const sum = (figure: (run: Run) => number) => runs.reduce((all, run) => all + figure(run), 0);
  const counts = {
    missing: sum(({ missing }) => missing),
    duplicated: sum(({ duplicated }) => duplicated),
    refused: sum(({ refused }) => refused),
    lost: sum(({ lost }) => lost),
    'cut short': sum(({ cutShort }) => Number(cutShort)),
  };
  return Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([fault, count]) => `${count} ${fault}`)
    .join(', ');
}

function ratioOf(found: Runs, kind: Beside, figure: (run: Run) => number): number {
  return median(found[kind].map((run, at) => figure(run) / figure(found.alone[at] ?? run)));
}

function print(found: Runs): string {
  const rows = (['alone', ...neighbourKinds] as const).map((kind) => [
    kind,
    ...columns.flatMap(([, figure]) => [
      tenths(median(found[kind].map(figure))),
      ratio(ratioOf(found, kind, figure)),
    ]),
    faultsOf(found[kind]),
  ]);
  return [
    `Events of the quiet app, medians of ${found.alone.length} runs, each with its ratio to the run alone next to it`,
    ...align([['', ...columns.flatMap(([head]) => [head, 'ratio']), 'faults'], ...rows]),
    ...neighbourKinds.map((kind) => `${kind}: ${found[kind].at(-1)?.neighbour ?? ''}`),
  ].join('\n');
}

function evidenceOf(
  found: Runs,
  { seconds, load }: { readonly seconds: number; readonly load: number },
): EvidenceResult {
  const faults = Object.values(found).map(faultsOf).filter(Boolean);
  const figuresOf = (kind: Beside) =>
    columns.map(([, figure]) => tenths(median(found[kind].map(figure)))).join(', ');
  return {
    section: 'scale',
    name: 'neighbours: a quiet app beside a busy one',
    command: `npm run bench -- neighbours --seconds ${seconds} --runs ${found.alone.length}`,
    result: faults.length === 0 ? 'measured' : 'broken',
    ...(faults.length === 0 ? {} : { why: faults.join('; ') }),
    figures: {
      'alone: p50, p99, p99.9': `${figuresOf('alone')} ms`,
      'beside a hot app': `${figuresOf('hot')} ms`,
      'beside one that connects': `${figuresOf('connecting')} ms`,
      'beside one that does not read': `${figuresOf('slow-reading')} ms`,
      'load average before': load.toFixed(1),
    },
  };
}

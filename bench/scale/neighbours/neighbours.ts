import { loadavg } from 'node:os';
import type { EvidenceResult } from '../../../testing/evidence/rows.ts';
import type { AppAddress } from '../../bench-app.ts';
import type { StepResult } from '../../load/open-loop.ts';
import { type LoadProcess, startLoad } from '../../load-calls.ts';
import type { Pinning } from '../../machine/cores.ts';
import { countOf, UsageError } from '../../options.ts';
import { align, median, ratio, tenths } from '../../report.ts';
import { startFanfare } from '../../servers.ts';
import { pinned, scaleCommand } from '../command.ts';
import { type NeighbourKind, neighbourKinds, startNeighbour } from './neighbour.ts';
import { grantsOfIssuer } from './token-senders.ts';

/** `npm run bench -- neighbours`: how long events of a quiet app take beside a busy one. */

const SIZE = { crowd: { channels: 10, subscribersEach: 10 }, publishers: 4 };
const EVENTS_PER_SECOND = 100;
const EVENT_BYTES = 100;
const WARMUP_SECONDS = 1;
/** A neighbour begins to be busy before, and stays so until after. */
const AROUND_SECONDS = 3;
const NO_LIMIT_MS = 60_000;

/** How much longer events of the quiet app may take beside tokens, at the 99th percentile. */
const TOKENS_RATIO_MAX = 2;

/** As by default. */
const FRAMES_PER_SECOND = 300;

const NEIGHBOUR = { id: '2', key: 'neighbour-key', secret: 'neighbour-secret' };

interface Run extends StepResult {
  /** What the neighbour did, in words. */
  readonly neighbour: string;
}

interface Runs {
  readonly alone: readonly Run[];
  readonly beside: ReadonlyMap<NeighbourKind, readonly Run[]>;
}

const p99 = ({ p99Ms }: Run) => p99Ms;
const columns: readonly (readonly [head: string, figure: (run: Run) => number])[] = [
  ['p50 ms', ({ p50Ms }) => p50Ms],
  ['p99', p99],
  ['p99.9', ({ p999Ms }) => p999Ms],
];

export const neighbours = scaleCommand({
  name: 'neighbours',
  about: `How long the events of a quiet app take from when they are due until they are read: alone, and beside another app of the same
server that is hot (300 events/s to 1,000 subscribers), connects all the time (200 at once), has clients that do not read, or has
1,000 clients that send tokens with wrong signatures (ES256), as many as they may. The quiet app triggers 100 events/s to channels of 10. Alone and beside each neighbour in turns, so the ratio is the figure
to read.`,
  options: {
    seconds: { type: 'string', default: '20' },
    runs: { type: 'string', default: '3' },
    beside: { type: 'string', default: neighbourKinds.join() },
  },
  help: [
    ['--seconds N', 'of each measurement (20)'],
    ['--runs N', 'of each (3)'],
    ['--beside KINDS', `which neighbours, with commas (${neighbourKinds.join()})`],
  ],
  async measure(values, record) {
    const seconds = countOf(values.seconds, { option: '--seconds', min: 1 });
    const count = countOf(values.runs, { option: '--runs', min: 1 });
    const pinning = pinned();
    const load = loadavg()[0] ?? 0;
    const kinds = kindsOf(values.beside);
    const runs = await measure(pinning, { seconds, runs: count, kinds });
    console.log(`\n${print(runs)}`);
    record(evidenceOf(runs, { seconds, load }));
    const isHeld = !kinds.includes('tokens') || ratioOf(runs, 'tokens', p99) <= TOKENS_RATIO_MAX;
    return { figures: { load, runs }, isHeld };
  },
});

interface Effort {
  readonly seconds: number;
  readonly runs: number;
  readonly kinds: readonly NeighbourKind[];
}

function kindsOf(text: string): readonly NeighbourKind[] {
  return text.split(',').map((name) => {
    const kind = neighbourKinds.find((one) => one === name);
    if (kind === undefined) throw new UsageError(`--beside takes of ${neighbourKinds.join()}`);
    return kind;
  });
}

async function measure(pinning: Pinning, { seconds, runs, kinds }: Effort): Promise<Runs> {
  await using server = await startFanfare(pinning.server, {
    // It warns of each client that does not read.
    logLevel: 'error',
    channels: {
      addressLimits: { connectionsPerSecond: 0 },
      framesPerSecond: FRAMES_PER_SECOND,
    },
    otherApps: [
      {
        id: NEIGHBOUR.id,
        name: 'neighbour',
        keys: [{ key: NEIGHBOUR.key, secret: NEIGHBOUR.secret }],
        grants: grantsOfIssuer,
      },
    ],
  });
  const { app } = server;
  await using quiet = startLoad(pinning.load);
  await quiet.call('connect', { app, staysAwake: false, ...SIZE });
  const found = { alone: [] as Run[], beside: new Map(kinds.map((kind) => [kind, [] as Run[]])) };
  for (let run = 1; run <= runs; run += 1) {
    found.alone.push({ ...(await step(quiet, seconds)), neighbour: '' });
    for (const [kind, ofKind] of found.beside) {
      const beside = await besideNeighbour(pinning, { kind, app, quiet, seconds });
      console.error(`run ${run}, ${kind}: p99 ${tenths(beside.p99Ms)} ms; ${beside.neighbour}`);
      ofKind.push(beside);
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
  if (kind === 'tokens') {
    await busy.call('gather-tokens', { app: neighbour, framesPerSecond: FRAMES_PER_SECOND });
  }
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

function ratioOf(found: Runs, kind: NeighbourKind, figure: (run: Run) => number): number {
  const runs = found.beside.get(kind) ?? [];
  return median(runs.map((run, at) => figure(run) / figure(found.alone[at] ?? run)));
}

function print(found: Runs): string {
  const row = (
    name: string,
    runs: readonly Run[],
    ratioTo: (figure: (run: Run) => number) => number,
  ) => [
    name,
    ...columns.flatMap(([, figure]) => [tenths(median(runs.map(figure))), ratio(ratioTo(figure))]),
    faultsOf(runs),
  ];
  return [
    `Events of the quiet app, medians of ${found.alone.length} runs, each with its ratio to the run alone next to it`,
    ...align([
      ['', ...columns.flatMap(([head]) => [head, 'ratio']), 'faults'],
      row('alone', found.alone, () => 1),
      ...[...found.beside].map(([kind, runs]) =>
        row(kind, runs, (figure) => ratioOf(found, kind, figure)),
      ),
    ]),
    ...[...found.beside].map(([kind, runs]) => `${kind}: ${runs.at(-1)?.neighbour ?? ''}`),
  ].join('\n');
}

/** What evidence calls them. */
const names: Readonly<Record<NeighbourKind, string>> = {
  hot: 'beside a hot app',
  connecting: 'beside one that connects',
  'slow-reading': 'beside one that does not read',
  tokens: 'beside one whose clients send wrong tokens',
};

function evidenceOf(
  found: Runs,
  { seconds, load }: { readonly seconds: number; readonly load: number },
): EvidenceResult {
  const faults = [found.alone, ...found.beside.values()].map(faultsOf).filter(Boolean);
  const figuresOf = (runs: readonly Run[]) =>
    `${columns.map(([, figure]) => tenths(median(runs.map(figure)))).join(', ')} ms`;
  return {
    section: 'scale',
    name: 'neighbours: a quiet app beside a busy one',
    command: `npm run bench -- neighbours --seconds ${seconds} --runs ${found.alone.length}`,
    result: faults.length === 0 ? 'measured' : 'broken',
    ...(faults.length === 0 ? {} : { why: faults.join('; ') }),
    figures: {
      'alone: p50, p99, p99.9': figuresOf(found.alone),
      ...Object.fromEntries(
        [...found.beside].map(([kind, runs]) => [names[kind], figuresOf(runs)]),
      ),
      'load average before': load.toFixed(1),
    },
  };
}

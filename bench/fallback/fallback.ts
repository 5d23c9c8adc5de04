import { type Subject, startUnderLoad, tryStep } from '../fan-out/measure.ts';
import { inRounds } from '../in-rounds.ts';
import type { FallbackSize } from '../load/fallback/fallback-crowd.ts';
import type { StepResult } from '../load/open-loop.ts';
import { startLoad } from '../load-calls.ts';
import { OTHERS_MAX } from '../machine/cpu-usage.ts';
import { align, median, ratio, spread, tenths, verdict, whole } from '../report.ts';
import type { Bench } from '../scenario.ts';
import { startFanfare } from '../servers.ts';
import type { SessionMemory } from './rounds.ts';

/** The limit of what HTTP clients may add to the 99th percentile of WebSockets. */
const P99_RATIO_MAX = 1.05;
/** How much the memory may grow after the first round. */
const GROWTH_MAX = 1.05;

const NOBODY: FallbackSize = { streaming: 0, polling: 0 };
const SOME: FallbackSize = { streaming: 50, polling: 50 };
const ROUNDS = 8;
const ROUNDS_QUICK = 4;
const STEP_SECONDS = 2;
const DATA_BYTES = 200;

/** Beside 1,000 WebSockets of the same channel. */
const HOT_RATES = [50, 100];

/** The cost of each transport alone: the clients of one channel, at a rate of events that all of them can handle. */
const KINDS = {
  WebSocket: { webSockets: 2000, fallback: NOBODY },
  xhr_streaming: { webSockets: 1, fallback: { streaming: 2000, polling: 0 } },
  xhr_polling: { webSockets: 1, fallback: { streaming: 0, polling: 1000 } },
} as const;
type Kind = keyof typeof KINDS;
const KIND_NAMES = Object.keys(KINDS) as readonly Kind[];
const KIND_RATE = 5;

/** Each takes a descriptor of the server, and one of the load generator. */
const MEMORY_SESSIONS = 10_000;

interface Beside {
  readonly p99Ms: number;
  readonly fallbackP99Ms: number;
  readonly isDisturbed: boolean;
  readonly faults: number;
}

interface Cost {
  /** Processor time of the server for each delivery. Microseconds. */
  readonly usEach: number;
  readonly p99Ms: number;
  readonly faults: number;
}

export interface FallbackFigures {
  readonly beside: readonly {
    readonly publishesPerSecond: number;
    readonly found: Readonly<Record<'alone' | 'beside', readonly Beside[]>>;
  }[];
  readonly costs: Readonly<Record<Kind, readonly Cost[]>>;
  readonly memory: SessionMemory;
}

/** Measures what clients over the HTTP transports cost, and how they affect WebSockets. */
export async function measureFallback(bench: Bench): Promise<FallbackFigures> {
  return {
    beside: await measureBeside(bench),
    costs: await measureCosts(bench),
    memory: await measureMemory(bench),
  };
}

/** One server for all measurements, to which the clients connect in turn, so that everything else is equal. */
async function measureBeside(bench: Bench): Promise<FallbackFigures['beside']> {
  const load = { crowd: { channels: 1, subscribersEach: 1000 }, publishers: 16 };
  await using subject = await startUnderLoad(bench, bench.server, load);
  const measured: FallbackFigures['beside'][number][] = [];
  for (const rate of HOT_RATES) {
    const keys = ['alone', 'beside'] as const;
    await seat(subject, SOME);
    await tryStep(subject, { dataBytes: DATA_BYTES }, rate, STEP_SECONDS);
    const found = await inRounds(roundsOf(bench), keys, async (key): Promise<Beside> => {
      await seat(subject, key === 'alone' ? NOBODY : SOME);
      const step = await tryStep(subject, { dataBytes: DATA_BYTES }, rate, STEP_SECONDS);
      bench.logStep(`${rate}/s ${key}`, step);
      const { p99Ms, fallback } = step.result;
      return {
        p99Ms,
        fallbackP99Ms: fallback.p99Ms,
        isDisturbed: (step.cpu?.others ?? 0) > OTHERS_MAX,
        faults: faultsOf(step.result),
      };
    });
    measured.push({ publishesPerSecond: rate, found });
  }
  return measured;
}

async function measureCosts(bench: Bench): Promise<FallbackFigures['costs']> {
  await using parts = new AsyncDisposableStack();
  const subjects = new Map<Kind, Subject>();
  for (const kind of KIND_NAMES) {
    const { webSockets, fallback } = KINDS[kind];
    const crowd = { channels: 1, subscribersEach: webSockets };
    const subject = parts.use(await startUnderLoad(bench, bench.server, { crowd, publishers: 4 }));
    await seat(subject, fallback);
    subjects.set(kind, subject);
  }
  return await inRounds(roundsOf(bench), KIND_NAMES, async (kind): Promise<Cost> => {
    const subject = subjects.get(kind);
    if (subject === undefined) throw new Error(`no server for ${kind}`);
    const step = await tryStep(subject, { dataBytes: DATA_BYTES }, KIND_RATE, STEP_SECONDS);
    bench.logStep(kind, step);
    if (step.cpu === undefined) throw new Error('the server is no process of ours');
    const { delivered, fallback, p99Ms } = step.result;
    return {
      usEach: (step.cpu.serverSeconds * 1e6) / (delivered + fallback.delivered),
      p99Ms: kind === 'WebSocket' ? p99Ms : fallback.p99Ms,
      faults: faultsOf(step.result),
    };
  });
}

async function measureMemory({ pinning, isQuick }: Bench): Promise<SessionMemory> {
  const sessions = isQuick ? MEMORY_SESSIONS / 10 : MEMORY_SESSIONS;
  await using server = await startFanfare(pinning.server, {
    channels: { maxFallbackConnections: sessions },
  });
  await using load = startLoad(pinning.load);
  return await load.call('sessions', {
    app: server.app,
    serverPid: server.pid,
    streaming: sessions / 2,
    polling: sessions / 2,
    rounds: 3,
    channels: 1000,
    eventsEach: 20,
    settleSeconds: isQuick ? 4 : 12,
  });
}

async function seat({ load }: Subject, size: FallbackSize): Promise<void> {
  await load.call('fallback', size);
}

function faultsOf({ missing, duplicated, refused, lost, fallback }: StepResult): number {
  return missing + duplicated + refused + lost + fallback.missing + fallback.duplicated;
}

const roundsOf = ({ isQuick }: Bench): number => (isQuick ? ROUNDS_QUICK : ROUNDS);
const hundredths = (number: number): string => number.toFixed(2);
const mebibytes = (bytes: number): string => tenths(bytes / 2 ** 20);

/** The tables of this scenario. */
export function printFallback({ beside, costs, memory }: FallbackFigures): string {
  return [
    'fallback: clients over the HTTP transports, and WebSockets beside them',
    ...beside.flatMap(printBeside),
    '',
    ...printCosts(costs),
    '',
    ...printMemory(memory),
  ].join('\n');
}

function printBeside({ publishesPerSecond, found }: FallbackFigures['beside'][number]): string[] {
  const ratios = found.beside.map(({ p99Ms }, round) => p99Ms / (found.alone[round]?.p99Ms ?? 0));
  const row = (name: string, all: readonly Beside[]) => {
    const each = all.map(({ p99Ms }) => p99Ms);
    return [name, hundredths(median(each)), spread(each, hundredths)];
  };
  const all = [...found.alone, ...found.beside];
  const disturbed = all.filter(({ isDisturbed }) => isDisturbed).length;
  return [
    `p99 ms of 1,000 WebSockets of one channel, ${publishesPerSecond} events/s, ${ratios.length} rounds`,
    ...align([
      ['', 'median', 'spread'],
      row('alone', found.alone),
      row('beside 50 streaming and 50 polling clients', found.beside),
      ['ratio', ratio(median(ratios)), spread(ratios, ratio)],
      [
        'of the clients over HTTP',
        hundredths(median(found.beside.map((one) => one.fallbackP99Ms))),
      ],
    ]),
    verdict(`ratio <= ${ratio(P99_RATIO_MAX)}`, median(ratios) <= P99_RATIO_MAX),
    `${whole(all.reduce((sum, { faults }) => sum + faults, 0))} events were lost, doubled or refused`,
    ...(disturbed > 0
      ? [`note: in ${disturbed} of ${all.length} steps others used this machine`]
      : []),
  ];
}

function printCosts(costs: FallbackFigures['costs']): string[] {
  const webSockets = costs.WebSocket.map(({ usEach }) => usEach);
  const rows = KIND_NAMES.map((kind) => {
    const { webSockets: own, fallback } = KINDS[kind];
    const each = costs[kind].map(({ usEach }) => usEach);
    const ratios = each.map((us, round) => us / (webSockets[round] ?? 0));
    const faults = costs[kind].reduce((sum, one) => sum + one.faults, 0);
    return [
      kind,
      whole(Math.max(own, fallback.streaming + fallback.polling)),
      hundredths(median(each)),
      ratio(median(ratios)),
      spread(ratios, ratio),
      hundredths(median(costs[kind].map(({ p99Ms }) => p99Ms))),
      whole(faults),
    ];
  });
  return [
    `one channel, ${KIND_RATE} events/s: processor time of the server for each delivery`,
    ...align([['', 'clients', 'µs', 'ratio', 'spread', 'p99 ms', 'faults'], ...rows]),
  ];
}

function printMemory({ before, rounds }: SessionMemory): string[] {
  const [first] = rounds;
  const last = rounds.at(-1);
  const grown = (last?.empty ?? 0) / (first?.empty ?? 1);
  return [
    `memory of the server with sessions, half streaming and half polling; ${mebibytes(before)} MiB before`,
    ...align([
      ['MiB', 'full', 'after events', 'empty again'],
      ...rounds.map(({ full, received, empty }, round) => [
        `round ${round + 1}`,
        mebibytes(full),
        mebibytes(received),
        mebibytes(empty),
      ]),
    ]),
    verdict(`last round <= ${ratio(GROWTH_MAX)} times the first`, grown <= GROWTH_MAX),
  ];
}

import { setTimeout as sleep } from 'node:timers/promises';
import { residentBytes } from '../connections/server-memory.ts';
import { fanOuts } from '../fan-out/fan-outs.ts';
import { type Subject, startUnderLoad, tryStep } from '../fan-out/measure.ts';
import { type ByKey, inRounds } from '../in-rounds.ts';
import type { LoadSize } from '../load/open-loop.ts';
import { OTHERS_MAX } from '../machine/cpu-usage.ts';
import { align, median, ratio, spread, tenths, verdict, whole } from '../report.ts';
import type { Bench } from '../scenario.ts';
import { type Contender, startFanfare } from '../servers.ts';
import { type LinkFigures, measureLinks } from './loop-links.ts';

const COUNTS = [1, 2, 4];
const EFFICIENCY_MIN = 0.85;
const ADDED_P50_MS_MAX = 0.1;
const ADDED_P99_MS_MAX = 1;

/**
 * Events per second that one thread handles with less than 60 % of its core. Above that, publishes within one thread
 * wait for each other, unlike those of several threads with less load each.
 */
const RATES: Readonly<Record<string, number>> = { hot: 50, spread: 4000, many: 4000 };
const WARM_UP_TIMES = 2;
const WARM_UP_SECONDS = 3;
const STEP_SECONDS = 2;
const ROUNDS = 4;
const ROUNDS_QUICK = 2;

/** So few events that each finds all threads asleep. */
const IDLE_RATE = 100;
const IDLE_SECONDS = 4;
const IDLE_LOAD: LoadSize = { crowd: { channels: 50, subscribersEach: 2 }, publishers: 16 };
const DATA_BYTES = 200;

const STARTS = 3;
const SETTLE_MS = 1500;

/** The results of each round, by the number of threads. */
type ByThreads<Found> = ByKey<number, Found>;

interface Step {
  readonly deliveriesPerCpuSecond: number;
  /** Whether other processes used the machine. */
  readonly isDisturbed: boolean;
  /** Whether each event was delivered once and in time. */
  readonly isHeld: boolean;
}

interface Efficiency {
  readonly name: string;
  readonly publishesPerSecond: number;
  readonly steps: ByThreads<Step>;
}

/** From when an event was due to when its delivery was read. */
interface Latency {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** A server without connections. */
interface Start {
  readonly bytes: number;
  /** Settles when the server accepts connections. */
  readonly ms: number;
}

/** The cost of several realtime threads, compared with one. */
export interface ThreadsFigures {
  readonly links: LinkFigures;
  readonly efficiency: readonly Efficiency[];
  readonly latency: ByThreads<Latency>;
  readonly starts: ByThreads<Start>;
}

/**
 * Measures servers with one and with more realtime threads alternately, in short rounds. All threads of a server
 * share one core, because the load generator needs the other one: CPU time counts, not the rate.
 */
export async function measureThreads(bench: Bench): Promise<ThreadsFigures> {
  const links = await measureLinks();
  const efficiency: Efficiency[] = [];
  for (const name of Object.keys(RATES)) efficiency.push(await measureEfficiency(bench, name));
  const latency = await measureLatency(bench);
  return { links, efficiency, latency, starts: await measureStarts(bench) };
}

async function measureEfficiency(bench: Bench, name: string): Promise<Efficiency> {
  const fanOut = fanOuts.find((one) => one.name === name);
  const publishesPerSecond = RATES[name];
  if (fanOut === undefined || publishesPerSecond === undefined) throw new Error(`no rate: ${name}`);
  await using subjects = await startAll(bench, COUNTS, fanOut.load);
  for (const threads of COUNTS) {
    const rate = publishesPerSecond * WARM_UP_TIMES;
    await tryStep(subjects.of(threads), fanOut, rate, WARM_UP_SECONDS);
  }
  const steps = await inRounds(roundsOf(bench), COUNTS, async (threads): Promise<Step> => {
    const step = await tryStep(subjects.of(threads), fanOut, publishesPerSecond, STEP_SECONDS);
    const { result, cpu, isHeld } = step;
    if (cpu === undefined) throw new Error('the server is no process of ours');
    bench.logStep(`${name}, ${counted(threads)}`, step);
    const deliveriesPerCpuSecond = result.delivered / cpu.serverSeconds;
    return { deliveriesPerCpuSecond, isDisturbed: cpu.others > OTHERS_MAX, isHeld };
  });
  for (const threads of COUNTS) {
    const each = whole(median(perCpuSecond(steps, threads)));
    bench.log(`${name}, ${counted(threads)}: ${each} deliveries per CPU second`);
  }
  return { name, publishesPerSecond, steps };
}

async function measureLatency(bench: Bench): Promise<ByThreads<Latency>> {
  const counts = [1, 2];
  await using subjects = await startAll(bench, counts, IDLE_LOAD);
  return await inRounds(roundsOf(bench), counts, async (threads): Promise<Latency> => {
    const load = { dataBytes: DATA_BYTES };
    const step = await tryStep(subjects.of(threads), load, IDLE_RATE, IDLE_SECONDS);
    bench.logStep(`latency, ${counted(threads)}`, step);
    const { p50Ms, p99Ms } = step.result;
    return { p50Ms, p99Ms };
  });
}

async function measureStarts({ pinning }: Bench): Promise<ByThreads<Start>> {
  return await inRounds(STARTS, COUNTS, async (threads): Promise<Start> => {
    const beganMs = performance.now();
    await using server = await startFanfare(pinning.server, { threads });
    const ms = performance.now() - beganMs;
    await sleep(SETTLE_MS);
    return { bytes: residentBytes(server.pid), ms };
  });
}

interface Subjects extends AsyncDisposable {
  /** A server with this number of threads, and its load. */
  of(threads: number): Subject;
}

/**
 * Starts a server for each number of threads, each with its own load generator. All stay up; one at a time is loaded.
 */
async function startAll(
  bench: Bench,
  counts: readonly number[],
  load: LoadSize,
): Promise<Subjects> {
  await using parts = new AsyncDisposableStack();
  const subjects = new Map<number, Subject>();
  for (const threads of counts) {
    const server: Contender = {
      name: counted(threads),
      start: (pin, app) => startFanfare(pin, { app, threads }),
    };
    subjects.set(threads, parts.use(await startUnderLoad(bench, server, load)));
  }
  const started = parts.move();
  return {
    of(threads) {
      const subject = subjects.get(threads);
      if (subject === undefined) throw new Error(`no server with ${counted(threads)}`);
      return subject;
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

const roundsOf = ({ isQuick }: Bench): number => (isQuick ? ROUNDS_QUICK : ROUNDS);

const counted = (threads: number): string => (threads === 1 ? '1 thread' : `${threads} threads`);
const hundredths = (number: number): string => number.toFixed(2);
const mebibytes = (bytes: number): string => tenths(bytes / 2 ** 20);

const perCpuSecond = (steps: ByThreads<Step>, threads: number): number[] =>
  (steps[threads] ?? []).map((step) => step.deliveriesPerCpuSecond);

/** One figure of each round, minus that of one thread in the same round; the median. */
function added(latency: ByThreads<Latency>, figure: (found: Latency) => number): number {
  const ones = (latency[1] ?? []).map(figure);
  const twos = (latency[2] ?? []).map(figure);
  return median(twos.map((each, round) => each - (ones[round] ?? Number.NaN)));
}

/** The tables of this scenario. */
export function printThreads({ links, efficiency, latency, starts }: ThreadsFigures): string {
  return [
    'threads: several realtime threads beside one; all threads of a server share one core',
    ...printEfficiency(efficiency),
    '',
    ...printLatency(latency),
    '',
    ...printLinks(links),
    '',
    ...printStarts(starts),
  ].join('\n');
}

function printEfficiency(efficiency: readonly Efficiency[]): string[] {
  const rows: string[][] = [];
  const verdicts: string[] = [];
  for (const { name, publishesPerSecond, steps } of efficiency) {
    const ones = perCpuSecond(steps, 1);
    for (const threads of COUNTS) {
      const each = perCpuSecond(steps, threads);
      const row = [`${name}, ${counted(threads)}`, whole(publishesPerSecond), whole(median(each))];
      rows.push(row);
      if (threads === 1) continue;
      const ratios = each.map((found, round) => found / (ones[round] ?? Number.NaN));
      row.push(ratio(median(ratios)), spread(ratios, ratio));
      const target = `${name}, ${counted(threads)}: ratio >= ${ratio(EFFICIENCY_MIN)}`;
      verdicts.push(verdict(target, median(ratios) >= EFFICIENCY_MIN));
    }
  }
  const all = efficiency.flatMap(({ steps }) => Object.values(steps).flat());
  const disturbed = all.filter((step) => step.isDisturbed).length;
  const failed = all.filter((step) => !step.isHeld).length;
  return [
    ...align([['', 'events/s', 'deliveries per CPU s', 'ratio', 'spread'], ...rows]),
    ...verdicts,
    ...(disturbed > 0 ? [`note: in ${disturbed} steps others used this machine`] : []),
    ...(failed > 0 ? [`note: in ${failed} steps events were lost, doubled or late`] : []),
  ];
}

function printLatency(latency: ByThreads<Latency>): string[] {
  const p50Ms = added(latency, (found) => found.p50Ms);
  const p99Ms = added(latency, (found) => found.p99Ms);
  const row = (threads: number) => {
    const each = latency[threads] ?? [];
    const p50 = median(each.map((found) => found.p50Ms));
    return [counted(threads), hundredths(p50), hundredths(median(each.map((one) => one.p99Ms)))];
  };
  return [
    `from trigger to delivery, ${IDLE_RATE} events/s`,
    ...align([
      ['', 'p50 ms', 'p99'],
      row(1),
      row(2),
      ['added', hundredths(p50Ms), hundredths(p99Ms)],
    ]),
    verdict(`added p50 <= ${ADDED_P50_MS_MAX} ms`, p50Ms <= ADDED_P50_MS_MAX),
    verdict(`added p99 <= ${ADDED_P99_MS_MAX} ms`, p99Ms <= ADDED_P99_MS_MAX),
  ];
}

function printLinks({ oneWayP50Ms, oneWayP99Ms, busy }: LinkFigures): string[] {
  return [
    `the link alone, not pinned: one way p50 ${oneWayP50Ms.toFixed(3)} ms, p99 ${oneWayP99Ms.toFixed(3)} ms`,
    ...align([
      ['messages per turn', 'messages/s', 'CPU µs each'],
      ...busy.map(({ perTurn, messagesPerSecond, us }) => [
        whole(perTurn),
        whole(messagesPerSecond),
        hundredths(us),
      ]),
    ]),
  ];
}

function printStarts(starts: ByThreads<Start>): string[] {
  const rows = COUNTS.map((threads) => {
    const each = starts[threads] ?? [];
    const bytes = median(each.map((start) => start.bytes));
    return [counted(threads), mebibytes(bytes), whole(median(each.map((start) => start.ms)))];
  });
  return ['an idle server', ...align([['', 'MiB', 'start ms'], ...rows])];
}

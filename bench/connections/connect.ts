import type { Pinning } from '../machine/cores.ts';
import { leastDisturbed, quiet } from '../machine/quiet.ts';
import { align, median, spread, whole } from '../report.ts';
import {
  type Compared,
  type Contenders,
  inTurn,
  load,
  notes,
  onFreshServer,
  othersIn,
  printRatios,
  type Tell,
} from './contenders.ts';
import type { ConnectionsEffort } from './effort.ts';
import type { ChannelKind, ConnectRun } from './load.ts';

/** Connections under way at the same time: far below what a server allows one address to have half open. */
const AT_ONCE = 200;

/** A question about coming: how many connections per second, each with one subscription. */
export interface ConnectScenario {
  readonly name: string;
  readonly kind: ChannelKind;
  readonly description: string;
  /** The share of the floor's figure that Fanfare should reach. */
  readonly ratioMin: number;
}

/** The floor verifies nothing of a subscription, so that less of it is asked for a private channel. */
export const connectScenarios: readonly ConnectScenario[] = [
  {
    name: 'connect',
    kind: 'public',
    description: `${AT_ONCE} connections under way, each to one public channel and closed again`,
    ratioMin: 0.7,
  },
  {
    name: 'connect-private',
    kind: 'private',
    description: `the same with a private channel, whose signature only the server verifies`,
    ratioMin: 0.6,
  },
];

/** What one scenario came to. */
export interface ConnectComparison extends Compared<ConnectRun> {
  readonly scenario: ConnectScenario;
  readonly serverName: string;
}

/**
 * Measures new connections per second in a closed loop: each is made, subscribed, and closed by the client with
 * a close frame, after which the server ends it, so that its port is free at once on the client's side.
 */
export async function measureConnect(
  pinning: Pinning,
  contenders: Contenders,
  scenario: ConnectScenario,
  effort: ConnectionsEffort,
  tell: Tell,
): Promise<ConnectComparison> {
  const { kind, name } = scenario;
  const { warmupSeconds, seconds } = effort;
  const measureOnce = async (contender: Contenders['server']) => {
    await quiet();
    return await onFreshServer(pinning, contender, ({ app, pid }) =>
      load(pinning, {
        name: 'connect',
        app,
        serverPid: pid,
        kind,
        atOnce: AT_ONCE,
        warmupSeconds,
        seconds,
      }),
    );
  };
  const compared = await inTurn(contenders, effort.runs, async (contender, number) => {
    const run = await leastDisturbed(() => measureOnce(contender), othersIn);
    tell(`${name}, run ${number}, ${contender.name}: ${whole(run.perSecond)} connections/s`);
    return run;
  });
  return { scenario, serverName: contenders.server.name, ...compared };
}

/** The ratio of each run of the server to the floor's run beside it: of what comes in a second. */
function connectRatios({ server, floor: beside }: Compared<ConnectRun>): number[] {
  return server.map((run, index) => run.perSecond / (beside[index]?.perSecond ?? Number.NaN));
}

/**
 * The same by processor time of the server for each connection, floor to server. On loopback much of a server's
 * handshake runs on the client's core, so that the load may hold back the faster of the two; not so here.
 * Numbers that are not known, beside a server that is not ours, are left out.
 */
function connectCpuRatios({ server, floor: beside }: Compared<ConnectRun>): number[] {
  return server.flatMap((run, index) => {
    const other = beside[index];
    const found = other === undefined ? Number.NaN : usEach(other) / usEach(run);
    return Number.isNaN(found) ? [] : found;
  });
}

function usEach({ cpu, perSecond }: ConnectRun): number {
  return ((cpu?.server ?? Number.NaN) * 1e6) / perSecond;
}

const tenths = (number: number): string => number.toFixed(1);
const percent = (share: number): string => (Number.isNaN(share) ? '' : `${whole(share * 100)} %`);
const tenthsOrNothing = (number: number): string => (Number.isNaN(number) ? '' : tenths(number));

/** What the table says of each server besides its figure. */
const columns: readonly (readonly [
  head: string,
  read: (run: ConnectRun) => number,
  print: (number: number) => string,
])[] = [
  ['p50 ms', ({ p50Ms }) => p50Ms, tenths],
  ['p99', ({ p99Ms }) => p99Ms, tenths],
  ['max', ({ maxMs }) => maxMs, tenths],
  ['server CPU', ({ cpu }) => cpu?.server ?? Number.NaN, percent],
  // Others on the machine change this less than the rate.
  ['µs each', usEach, tenthsOrNothing],
  ['load CPU', ({ loadCpu }) => loadCpu, percent],
];

/** The table of one scenario. */
export function printConnect(comparison: ConnectComparison): string {
  const { scenario, serverName, server, floor: beside } = comparison;
  const row = (name: string, runs: readonly ConnectRun[]) => {
    const rates = runs.map((run) => run.perSecond);
    const rest = columns.map(([, read, print]) => print(median(runs.map(read))));
    return [name, whole(median(rates)), spread(rates, whole), ...rest];
  };
  const ratios = printRatios('ratio', connectRatios(comparison), scenario);
  const cpuRatios = connectCpuRatios(comparison);
  const byCpu = printRatios('by CPU time', cpuRatios, scenario);
  return [
    `${scenario.name}: ${scenario.description}`,
    `connections/s, ${server.length} runs; times are until the subscription is confirmed`,
    ...align([
      ['', 'median', 'spread', ...columns.map(([head]) => head)],
      row('floor', beside),
      row(serverName, server),
      ratios.row,
      ...(cpuRatios.length === 0 ? [] : [byCpu.row]),
    ]),
    ratios.verdict,
    ...(cpuRatios.length === 0 ? [] : [byCpu.verdict]),
    ...notes([...server, ...beside]),
  ].join('\n');
}

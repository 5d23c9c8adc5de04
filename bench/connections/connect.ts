import { type Compared, inTurn, notes, othersIn, printRatios, ratiosOf } from '../beside-floor.ts';
import type { LoopResult } from '../load/closed-loop.ts';
import { startLoad } from '../load-calls.ts';
import { leastDisturbed, quiet } from '../machine/quiet.ts';
import { align, median, percent, spread, tenths, whole } from '../report.ts';
import type { Bench } from '../scenario.ts';
import type { Churn } from './tasks.ts';

/** Concurrent connection attempts: far below the limit of half-open connections per address. */
export const AT_ONCE = 200;

/** A measurement of new connections: how many per second, each with one subscription. */
export interface ConnectScenario {
  readonly name: string;
  readonly kind: Churn['kind'];
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

/** The result of one scenario. */
export interface ConnectComparison extends Compared<LoopResult> {
  readonly scenario: ConnectScenario;
  readonly serverName: string;
}

/**
 * Measures new connections per second in a closed loop. Each is opened, subscribed, and closed by the client with a
 * close frame. The server then closes it, so that the port is free at once on the client's side.
 */
export async function measureConnect(
  bench: Bench,
  scenario: ConnectScenario,
): Promise<ConnectComparison> {
  const { kind, name } = scenario;
  const [warmupSeconds, seconds] = bench.isQuick ? [1, 2] : [3, 6];
  const compared = await inTurn(bench.effort.runs, async (role, number) => {
    const measureOnce = async () => {
      await quiet();
      await using server = await bench[role].start(bench.pinning.server);
      await using load = startLoad(bench.pinning.load);
      const { app, pid: serverPid } = server;
      return await load.call('churn', {
        app,
        serverPid,
        kind,
        atOnce: AT_ONCE,
        warmupSeconds,
        seconds,
      });
    };
    const run = await leastDisturbed(measureOnce, othersIn);
    bench.log(`${name}, run ${number}, ${bench[role].name}: ${whole(run.perSecond)} connections/s`);
    return run;
  });
  return { scenario, serverName: bench.server.name, ...compared };
}

/**
 * Ratios by the server's CPU time per connection, floor to server. On loopback much of a server's handshake runs on
 * the client's core, so the load may slow the faster of the two; CPU time avoids that. Unknown figures, of a server
 * that this benchmark did not start, are left out.
 */
function connectCpuRatios(compared: Compared<LoopResult>): number[] {
  return ratiosOf(compared, (run) => 1 / usEach(run)).filter((each) => !Number.isNaN(each));
}

function usEach({ cpu, perSecond }: LoopResult): number {
  return ((cpu?.server ?? Number.NaN) * 1e6) / perSecond;
}

/** The columns of the table in addition to each server's figure. */
const columns: readonly (readonly [
  head: string,
  read: (run: LoopResult) => number,
  print: (number: number) => string,
])[] = [
  ['p50 ms', ({ p50Ms }) => p50Ms, tenths],
  ['p99', ({ p99Ms }) => p99Ms, tenths],
  ['max', ({ maxMs }) => maxMs, tenths],
  ['server CPU', ({ cpu }) => cpu?.server ?? Number.NaN, percent],
  // Other processes change this less than the rate.
  ['µs each', usEach, tenths],
  ['load CPU', ({ loadCpu }) => loadCpu, percent],
];

/** The table of one scenario. */
export function printConnect(comparison: ConnectComparison): string {
  const { scenario, serverName, server, floor } = comparison;
  const row = (name: string, runs: readonly LoopResult[]) => {
    const rates = runs.map((run) => run.perSecond);
    const rest = columns.map(([, read, print]) => print(median(runs.map(read))));
    return [name, whole(median(rates)), spread(rates, whole), ...rest];
  };
  const cpuRatios = connectCpuRatios(comparison);
  const judged = [
    printRatios(
      'ratio',
      ratiosOf(comparison, (run) => run.perSecond),
      scenario,
    ),
    ...(cpuRatios.length === 0 ? [] : [printRatios('by CPU time', cpuRatios, scenario)]),
  ];
  return [
    `${scenario.name}: ${scenario.description}`,
    `connections/s, ${server.length} runs; times are until the subscription is confirmed`,
    ...align([
      ['', 'median', 'spread', ...columns.map(([head]) => head)],
      row('floor', floor),
      row(serverName, server),
      ...judged.map((each) => each.row),
    ]),
    ...judged.map((each) => each.verdict),
    ...notes([...server, ...floor]),
  ].join('\n');
}

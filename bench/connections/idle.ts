import { type Compared, inTurn, printRatios, ratiosOf } from '../beside-floor.ts';
import { startLoad } from '../load-calls.ts';
import { align, median, spread, whole } from '../report.ts';
import type { Bench } from '../scenario.ts';
import type { IdleRun } from './tasks.ts';

const CONNECTIONS = 10_000;
/**
 * Connections before the first measurement, so that one-time costs of the server, such as compiled code, are not
 * counted.
 */
const CONNECTIONS_BEFORE = 2000;
const CHANNELS = 1000;

/** No subscription: measures the memory of a silent connection. */
export interface IdleScenario {
  readonly name: string;
  readonly channelsEach: number;
  readonly description: string;
  /** How many times the floor's figure Fanfare's may be. */
  readonly ratioMax: number;
}

export const idleScenarios: readonly IdleScenario[] = [
  {
    name: 'idle',
    channelsEach: 1,
    description: `${whole(CONNECTIONS)} connections over ${whole(CHANNELS)} channels, one each`,
    ratioMax: 1.25,
  },
  {
    name: 'idle-ten',
    channelsEach: 10,
    description: `${whole(CONNECTIONS)} connections over ${whole(CHANNELS)} channels, ten each`,
    ratioMax: 1.5,
  },
];

/** The result of one scenario. */
export interface IdleComparison extends Compared<IdleRun> {
  readonly scenario: IdleScenario;
  readonly serverName: string;
}

/**
 * Measures the memory of idle connections: the server's memory after this many more have connected and the server was
 * idle, minus its memory before. Does not include the kernel's memory.
 */
export async function measureIdle(bench: Bench, scenario: IdleScenario): Promise<IdleComparison> {
  const { name, channelsEach } = scenario;
  const settleSeconds = bench.isQuick ? 4 : 6;
  const compared = await inTurn(bench.effort.runs, async (role, number) => {
    await using server = await bench[role].start(bench.pinning.server);
    await using load = startLoad(bench.pinning.load);
    const { app, pid: serverPid } = server;
    if (serverPid === undefined) throw new Error(`${bench[role].name} is no process of ours`);
    const run = await load.call('idle', {
      app,
      serverPid,
      connections: CONNECTIONS,
      connectionsBefore: CONNECTIONS_BEFORE,
      channels: CHANNELS,
      channelsEach,
      settleSeconds,
    });
    bench.log(`${name}, run ${number}, ${bench[role].name}: ${whole(run.bytesEach)} bytes each`);
    return run;
  });
  return { scenario, serverName: bench.server.name, ...compared };
}

const mebibytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(1);

/** The table of one scenario. */
export function printIdle(comparison: IdleComparison): string {
  const { scenario, serverName, server, floor } = comparison;
  const row = (name: string, runs: readonly IdleRun[]) => {
    const each = runs.map((run) => run.bytesEach);
    return [
      name,
      whole(median(each)),
      spread(each, whole),
      mebibytes(median(runs.map((run) => run.bytesBefore))),
      mebibytes(median(runs.map((run) => run.bytesAfter))),
    ];
  };
  const ratios = printRatios(
    'ratio',
    ratiosOf(comparison, (run) => run.bytesEach),
    scenario,
  );
  return [
    `${scenario.name}: ${scenario.description}`,
    `resident bytes of each, ${server.length} runs; the kernel's own for a connection are not in them`,
    ...align([
      ['', 'median', 'spread', 'MiB before', 'MiB after'],
      row('floor', floor),
      row(serverName, server),
      ratios.row,
    ]),
    ratios.verdict,
  ].join('\n');
}

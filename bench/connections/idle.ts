import type { Pinning } from '../machine/cores.ts';
import { align, median, spread, whole } from '../report.ts';
import {
  type Compared,
  type Contenders,
  inTurn,
  load,
  onFreshServer,
  printRatios,
  type Tell,
} from './contenders.ts';
import type { ConnectionsEffort } from './effort.ts';
import type { IdleRun } from './load.ts';

const CONNECTIONS = 10_000;
/** So that what a server needs once, such as its compiled code, is there before the memory is read first. */
const CONNECTIONS_BEFORE = 2000;
const CHANNELS = 1000;

/** A question about staying: the memory of a connection that says nothing. */
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

/** What one scenario came to. */
export interface IdleComparison extends Compared<IdleRun> {
  readonly scenario: IdleScenario;
  readonly serverName: string;
}

/**
 * Measures the memory of idle connections: what a server occupies after so many more have come and it was left
 * alone, less what it occupied before. What the kernel keeps for them is not in it. `undefined` where
 * a server is not ours to look into, which `tell` hears.
 */
export async function measureIdle(
  pinning: Pinning,
  contenders: Contenders,
  scenario: IdleScenario,
  effort: ConnectionsEffort,
  tell: Tell,
): Promise<IdleComparison | undefined> {
  const { name, channelsEach } = scenario;
  const { settleSeconds } = effort;
  if (!(await isOurs(pinning, contenders.server))) {
    tell(`${name}: not measured, the memory of ${contenders.server.name} is not ours to read`);
    return undefined;
  }
  const compared = await inTurn(contenders, effort.runs, async (contender, number) => {
    const run = await onFreshServer(pinning, contender, async ({ app, pid }) => {
      if (pid === undefined) throw new Error(`${contender.name} is no process of ours`);
      return await load(pinning, {
        name: 'idle',
        app,
        serverPid: pid,
        connections: CONNECTIONS,
        connectionsBefore: CONNECTIONS_BEFORE,
        channels: CHANNELS,
        channelsEach,
        settleSeconds,
      });
    });
    tell(`${name}, run ${number}, ${contender.name}: ${whole(run.bytesEach)} bytes each`);
    return run;
  });
  return { scenario, serverName: contenders.server.name, ...compared };
}

/** Whether the memory of a server can be read: of one that we start. */
async function isOurs(pinning: Pinning, contender: Contenders['server']): Promise<boolean> {
  return await onFreshServer(pinning, contender, async ({ pid }) => pid !== undefined);
}

/** The ratio of each run of the server to the floor's run beside it. */
function idleRatios({ server, floor }: Compared<IdleRun>): number[] {
  return server.map((run, index) => run.bytesEach / (floor[index]?.bytesEach ?? Number.NaN));
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
  const ratios = printRatios('ratio', idleRatios(comparison), scenario);
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

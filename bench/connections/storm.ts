import type { Pinning } from '../cores.ts';
import { leastDisturbed, quiet } from '../push/quiet.ts';
import { align, median, ratio, spread, whole } from '../report.ts';
import {
  type Compared,
  type Contenders,
  inTurn,
  load,
  notes,
  onFreshServer,
  othersIn,
  type Tell,
} from './contenders.ts';
import type { ConnectionsEffort } from './effort.ts';
import type { StormRun } from './load.ts';

const CONNECTIONS = 5000;
const SHARED_BY = 50;
const CHANNELS_EACH = 2;
const REST_SECONDS = 1;

const description =
  `${whole(CONNECTIONS)} connections are cut off at once and come back at once, each to one channel of its own ` +
  `and one of ${SHARED_BY}`;

/** How long until everybody is back, on both. */
export interface StormComparison extends Compared<StormRun> {
  readonly serverName: string;
}

/**
 * Measures how long everybody is away when all connections are cut off at once, as by a proxy that starts anew:
 * the server has to take the old ones apart and the new ones in at the same time.
 */
export async function measureStorm(
  pinning: Pinning,
  contenders: Contenders,
  effort: ConnectionsEffort,
  tell: Tell,
): Promise<StormComparison> {
  const measureOnce = async (contender: Contenders['server']) => {
    await quiet();
    return await onFreshServer(pinning, contender, ({ app, pid }) =>
      load(pinning, {
        name: 'storm',
        app,
        serverPid: pid,
        connections: CONNECTIONS,
        channelsEach: CHANNELS_EACH,
        sharedBy: SHARED_BY,
        storms: effort.storms,
        restSeconds: REST_SECONDS,
      }),
    );
  };
  const compared = await inTurn(contenders, effort.runs, async (contender, number) => {
    const run = await leastDisturbed(() => measureOnce(contender), othersIn);
    tell(`storm, run ${number}, ${contender.name}: ${whole(median(run.backMs))} ms`);
    return run;
  });
  return { serverName: contenders.server.name, ...compared };
}

/** How many times as fast as the floor each run of the server was: below 1 where it took longer. */
function stormRatios({ server, floor }: Compared<StormRun>): number[] {
  return server.map((run, index) => median(floor[index]?.backMs ?? []) / median(run.backMs));
}

const percent = (share: number): string => (Number.isNaN(share) ? '' : `${whole(share * 100)} %`);

/** The table of the storm. */
export function printStorm(comparison: StormComparison): string {
  const { serverName, server, floor } = comparison;
  const row = (name: string, runs: readonly StormRun[]) => {
    const all = runs.flatMap((run) => run.backMs);
    return [
      name,
      whole(median(runs.map((run) => median(run.backMs)))),
      spread(all, whole),
      whole((CONNECTIONS * 1000) / median(all)),
      percent(median(runs.map(({ cpu }) => cpu?.server ?? Number.NaN))),
      percent(median(runs.map(({ loadCpu }) => loadCpu))),
    ];
  };
  const each = stormRatios(comparison);
  return [
    `storm: ${description}`,
    `ms until all are subscribed again, ${server.length} runs of ${server[0]?.backMs.length ?? 0}; the ratio is of speed`,
    ...align([
      ['', 'median', 'spread', 'back/s', 'server CPU', 'load CPU'],
      row('floor', floor),
      row(serverName, server),
      ['ratio', ratio(median(each)), spread(each, ratio)],
    ]),
    ...notes([...server, ...floor]),
  ].join('\n');
}

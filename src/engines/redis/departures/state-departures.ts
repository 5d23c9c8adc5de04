import type { RedisScript } from '../link/script.ts';
import { DEPARTED, REPORTED } from '../scripts/statements.ts';
import type { OwnChanges, StatedDeparture } from './own-changes.ts';
import type { ReportedDepartures } from './reported-departures.ts';

/** How many one call states, so that no script runs for long. */
const STATED_AT_ONCE = 100;

/** What a partition does for it. */
interface Stating {
  readonly own: OwnChanges;
  readonly awayMs: number;
  call(script: RedisScript, args: readonly (string | number)[]): Promise<unknown>;
  stated(names: readonly StatedDeparture[], owed: undefined): void;
}

/** States after a loss of data which departures this node has reported, and then those that were lost before anybody was handed them. */
export async function stateDepartures(
  partition: Stating,
  reported: ReportedDepartures,
): Promise<void> {
  for (const some of inParts(reported.all())) await partition.call(REPORTED, some.flat());
  for (const some of inParts(partition.own.lost())) {
    const rows = some.flatMap(([name, ageMs, isWhole]) => [name, ageMs, isWhole ? '1' : '']);
    await partition.call(DEPARTED, [partition.awayMs, ...rows]);
    partition.stated(
      some.map(([name]) => [name, true]),
      undefined,
    );
  }
}

function inParts<One>(all: readonly One[]): readonly (readonly One[])[] {
  const count = Math.ceil(all.length / STATED_AT_ONCE);
  return Array.from({ length: count }, (_, n) =>
    all.slice(n * STATED_AT_ONCE, (n + 1) * STATED_AT_ONCE),
  );
}

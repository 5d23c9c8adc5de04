import type { TransactionSQL } from 'bun';
import type { PublishTarget } from '../../../push/model/publish.ts';
import { hasEndToTell } from '../../../push/pending-completion-events.ts';
import type { Dialect } from '../../database/dialect.ts';
import { isAmong } from '../../database/number-list.ts';
import type { BigInteger } from '../devices/device-rows.ts';
import type { HeldPublish } from './locked-publish.ts';
import { addUntoldEnds } from './pending-completion-events.ts';
import { addTallies } from './publish-counts.ts';

interface RemainingRow {
  readonly publish: BigInteger;
  readonly remaining: BigInteger;
}

interface EndedRow {
  readonly number: BigInteger;
  readonly target: PublishTarget['kind'];
  readonly tells_end: number | null;
  readonly body: string;
}

/** Keeps what was counted of publishes, and ends those of which nothing waits any more. */
export async function settlePublishes(
  dialect: Dialect,
  sql: TransactionSQL,
  held: readonly HeldPublish[],
): Promise<void> {
  await addTallies(sql, held);
  const ended = await endedAmong(dialect, sql, held);
  for (const [nowMs, some] of Map.groupBy(ended, ({ last }) => last?.nowMs ?? 0)) {
    await finish(dialect, sql, some, nowMs);
  }
  const planned = held.filter(
    ({ state, stateBefore }) => state === 'delivering' && state !== stateBefore,
  );
  if (planned.length === 0) return;
  await sql`UPDATE publishes SET state = 'delivering'
    WHERE ${isAmong(dialect, sql, 'number', numbersOf(planned))}`;
}

/** Those to which something was done that was the last of them. */
async function endedAmong(
  dialect: Dialect,
  sql: TransactionSQL,
  held: readonly HeldPublish[],
): Promise<readonly HeldPublish[]> {
  const some = held.filter(({ last, state }) => last !== undefined && state === 'delivering');
  if (some.length === 0) return [];
  const rows: RemainingRow[] = await sql`
    SELECT publish, SUM(planned - accepted - failed - pruned - expired - cancelled) AS remaining
    FROM publish_outcomes WHERE ${isAmong(dialect, sql, 'publish', numbersOf(some))}
    GROUP BY publish`;
  const remaining = new Map(rows.map((row) => [Number(row.publish), Number(row.remaining)]));
  // Of an audience of nobody, nothing was counted.
  return some.filter(({ number }) => (remaining.get(number) ?? 0) === 0);
}

async function finish(
  dialect: Dialect,
  sql: TransactionSQL,
  held: readonly HeldPublish[],
  nowMs: number,
): Promise<void> {
  const rows: EndedRow[] = await sql`
    UPDATE publishes SET state = 'finished', finished_at = ${nowMs},
      body = CASE tells_end WHEN 0 THEN '' ELSE body END
    WHERE ${isAmong(dialect, sql, 'number', numbersOf(held))}
    RETURNING number, target, tells_end, CASE WHEN tells_end IS NULL THEN body ELSE '' END AS body`;
  const untold = rows.filter(({ target, tells_end, body }) =>
    tells_end === null ? hasEndToTell(target, body) : tells_end === 1,
  );
  await addUntoldEnds(
    sql,
    untold.map(({ number }) => Number(number)),
    nowMs,
  );
  for (const publish of held) {
    publish.state = 'finished';
    if (publish.last !== undefined) publish.last.answer.after = 'finished';
  }
}

function numbersOf(held: readonly HeldPublish[]): readonly number[] {
  return held.map(({ number }) => number);
}

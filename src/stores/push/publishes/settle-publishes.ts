import type { TransactionSQL } from 'bun';
import type { PublishTarget } from '../../../push/model/publish.ts';
import {
  COMPLETION_GRACE_MS,
  hasCompletionEvents,
} from '../../../push/pending-completion-events.ts';
import { type BigInteger, isAmong } from '../../database/rows.ts';
import type { LockedPublish } from './locked-publish.ts';
import { addPendingCompletionEvents } from './pending-completion-events.ts';
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

/** Writes the counts of locked publishes, and finishes those without remaining work. */
export async function settlePublishes(
  sql: TransactionSQL,
  publishes: readonly LockedPublish[],
): Promise<void> {
  await addTallies(sql, publishes);
  const ended = await endedAmong(sql, publishes);
  for (const [nowMs, some] of Map.groupBy(ended, ({ last }) => last?.nowMs ?? 0)) {
    await finish(sql, some, nowMs);
  }
  const planned = publishes.filter(
    ({ state, stateBefore }) => state === 'delivering' && state !== stateBefore,
  );
  if (planned.length === 0) return;
  await sql`UPDATE publishes SET state = 'delivering'
    WHERE ${isAmong(sql, 'number', numbersOf(planned))}`;
}

/** Publishes that have no remaining work. */
async function endedAmong(
  sql: TransactionSQL,
  publishes: readonly LockedPublish[],
): Promise<readonly LockedPublish[]> {
  const some = publishes.filter(({ last, state }) => last !== undefined && state === 'delivering');
  if (some.length === 0) return [];
  const rows: RemainingRow[] = await sql`
    SELECT publish, SUM(planned - accepted - failed - pruned - expired - cancelled) AS remaining
    FROM publish_outcomes WHERE ${isAmong(sql, 'publish', numbersOf(some))}
    GROUP BY publish`;
  const remaining = new Map(rows.map((row) => [Number(row.publish), Number(row.remaining)]));
  // An empty audience has no counts.
  return some.filter(({ number }) => (remaining.get(number) ?? 0) === 0);
}

async function finish(
  sql: TransactionSQL,
  publishes: readonly LockedPublish[],
  nowMs: number,
): Promise<void> {
  const rows: EndedRow[] = await sql`
    UPDATE publishes SET state = 'finished', finished_at = ${nowMs},
      body = CASE tells_end WHEN 0 THEN '' ELSE body END
    WHERE ${isAmong(sql, 'number', numbersOf(publishes))}
    RETURNING number, target, tells_end, CASE WHEN tells_end IS NULL THEN body ELSE '' END AS body`;
  const pending = rows.filter(({ target, tells_end, body }) =>
    tells_end === null ? hasCompletionEvents(target, body) : tells_end === 1,
  );
  const numbers = new Set(pending.map(({ number }) => Number(number)));
  for (const [isOrphan, some] of Map.groupBy(publishes, ({ gaveWay }) => gaveWay)) {
    const ended = numbersOf(some).filter((number) => numbers.has(number));
    await addPendingCompletionEvents(sql, ended, {
      finishedAtMs: nowMs,
      readyAtMs: isOrphan ? nowMs : nowMs + COMPLETION_GRACE_MS,
    });
  }
  for (const publish of publishes) {
    publish.state = 'finished';
    if (publish.last !== undefined) publish.last.answer.after = 'finished';
  }
}

function numbersOf(publishes: readonly LockedPublish[]): readonly number[] {
  return publishes.map(({ number }) => number);
}

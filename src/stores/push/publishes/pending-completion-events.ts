import type { TransactionSQL } from 'bun';
import type { ClaimTerms } from '../../../push/model/delivery.ts';
import type {
  PendingCompletionEvent,
  PendingCompletionEvents,
} from '../../../push/pending-completion-events.ts';
import type { Database } from '../../database/database.ts';
import { skipLocked } from '../../database/dialect.ts';
import { type BigInteger, inPieces, isAmong } from '../../database/rows.ts';
import type { CommitBatch } from '../../database/write-queue.ts';
import { type PublishRow, underWayOf } from './publish-row.ts';

interface PendingRow {
  readonly publish: BigInteger;
  readonly finished_at: BigInteger;
}

/**
 * Adds the completion events of publishes, in the commit that finishes them. Other servers than the one that finished
 * them may send them from `readyAtMs` on.
 */
export async function addPendingCompletionEvents(
  sql: TransactionSQL,
  publishes: readonly number[],
  { finishedAtMs, readyAtMs }: { readonly finishedAtMs: number; readonly readyAtMs: number },
): Promise<void> {
  const rows = publishes.map((publish) => ({
    publish,
    finished_at: finishedAtMs,
    ready_at: readyAtMs,
  }));
  for (const some of inPieces(rows)) await sql`INSERT INTO untold_ends ${sql(some)}`;
}

/** Publishes whose completion events are removed, by number. */
const removals: CommitBatch<number> = {
  async run(sql, publishes) {
    await sql`DELETE FROM untold_ends WHERE ${isAmong(sql, 'publish', publishes)}`;
    // The webhook requests are in the outbox, so the bodies are no longer needed.
    await sql`UPDATE publishes SET body = ''
      WHERE ${isAmong(sql, 'number', publishes)}
        AND outline IS NOT NULL AND finished_at IS NOT NULL`;
  },
};

/** Pending completion events in the store's tables. Several servers may use one store. */
export class StoredPendingCompletionEvents implements PendingCompletionEvents {
  private readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }

  async finishedAtMs(publish: number): Promise<number | undefined> {
    const [row]: Pick<PendingRow, 'finished_at'>[] = await this.database.read`
      SELECT finished_at FROM untold_ends WHERE publish = ${publish}`;
    return row === undefined ? undefined : Number(row.finished_at);
  }

  async claim(wanted: ClaimTerms): Promise<readonly PendingCompletionEvent[]> {
    // There is hardly ever one, and this read needs no commit.
    const [due]: unknown[] = await this.database.read`
      SELECT 1 FROM untold_ends WHERE ready_at <= ${wanted.nowMs} LIMIT 1`;
    if (due === undefined) return [];
    return await this.database.write((sql) => this.claimSome(sql, wanted));
  }

  async remove(publish: number): Promise<void> {
    await this.database.write((_, later) => later(removals, publish));
  }

  /** The outer condition repeats the inner one, because another server may claim a row in between. */
  private async claimSome(
    sql: TransactionSQL,
    { nowMs, untilMs, limit }: ClaimTerms,
  ): Promise<readonly PendingCompletionEvent[]> {
    const rows: PendingRow[] = await sql`
      WITH due AS MATERIALIZED (
        SELECT publish FROM untold_ends WHERE ready_at <= ${nowMs}
        ORDER BY ready_at, publish LIMIT ${limit} ${skipLocked(sql)})
      UPDATE untold_ends SET ready_at = ${untilMs}
      WHERE ready_at <= ${nowMs} AND publish IN (SELECT publish FROM due)
      RETURNING publish, finished_at`;
    const finishedAtMs = new Map(
      rows.map(({ publish, finished_at }) => [Number(publish), Number(finished_at)]),
    );
    const publishes: PublishRow[] = await sql`
      SELECT number, id, instance, target, created_at, due_at, body FROM publishes
      WHERE ${isAmong(sql, 'number', [...finishedAtMs.keys()])}`;
    return publishes
      .map((row) => ({
        publish: underWayOf(row),
        finishedAtMs: finishedAtMs.get(Number(row.number)) ?? nowMs,
      }))
      .sort((a, b) => a.finishedAtMs - b.finishedAtMs || a.publish.number - b.publish.number);
  }
}

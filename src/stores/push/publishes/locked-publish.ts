import type { TransactionSQL } from 'bun';
import type { AfterJob, PublishUnderWay } from '../../../push/model/delivery.ts';
import type { PublishState } from '../../../push/model/publish.ts';
import { lockRows } from '../../database/dialect.ts';
import { type BigInteger, isAmong } from '../../database/rows.ts';
import { Tally } from './publish-counts.ts';
import { type PublishRow, underWayOf } from './publish-row.ts';

/** What a change returns about its publish after the commit. */
export interface LockedAnswer {
  after: AfterJob;
}

interface LockedRow {
  readonly number: BigInteger;
  readonly instance: BigInteger;
  readonly state: PublishState;
  readonly due_at: BigInteger;
}

/** A publish that a commit has locked: no other commit changes its counts or its work until then. */
export class LockedPublish {
  readonly number: number;
  readonly instance: number;
  readonly dueAtMs: number;
  readonly tally = new Tally();
  state: PublishState;
  /** As stored. */
  readonly stateBefore: PublishState;
  /** Whether this commit has cancelled it. Work claimed by this commit was counted as cancelled then. */
  isCancelledNow = false;
  /** Whether this commit makes it give way, so that no server is about to send its completion events. */
  gaveWay = false;
  /** The last change of this commit that may have finished the publish. */
  last: { readonly answer: LockedAnswer; readonly nowMs: number } | undefined;
  private whole: PublishUnderWay | undefined;

  constructor(row: LockedRow) {
    this.number = Number(row.number);
    this.instance = Number(row.instance);
    this.dueAtMs = Number(row.due_at);
    this.state = row.state;
    this.stateBefore = row.state;
  }

  get isOver(): boolean {
    return this.state === 'finished' || this.state === 'cancelled';
  }

  /** With its body, which may be large and must have been read. */
  get underWay(): PublishUnderWay {
    if (this.whole === undefined) throw new Error('The body of a locked publish was not read');
    return this.whole;
  }

  /** Results were recorded that may be the last. `answer` may become `'finished'` at the end of the commit. */
  recorded(answer: LockedAnswer, nowMs: number): void {
    this.recordedPart(answer);
    this.last = { answer, nowMs };
  }

  /** Results were recorded, and others of the same job will follow. */
  recordedPart(answer: LockedAnswer): void {
    answer.after = this.state === 'cancelled' ? 'cancelled' : 'under-way';
  }

  set underWay(publish: PublishUnderWay) {
    this.whole = publish;
  }
}

/** Locks publishes in the order of their numbers. Deleted ones are left out. */
export async function lockPublishes(
  sql: TransactionSQL,
  numbers: readonly number[],
): Promise<ReadonlyMap<number, LockedPublish>> {
  const rows: LockedRow[] = await sql`
    SELECT number, instance, state, due_at FROM publishes
    WHERE ${isAmong(sql, 'number', numbers)} ORDER BY number
    ${lockRows(sql, 'FOR NO KEY UPDATE')}`;
  return new Map(rows.map((row) => [Number(row.number), new LockedPublish(row)]));
}

/** Reads the bodies of publishes. */
export async function readWhole(
  sql: TransactionSQL,
  publishes: readonly LockedPublish[],
): Promise<void> {
  if (publishes.length === 0) return;
  const numbers = publishes.map(({ number }) => number);
  const rows: PublishRow[] = await sql`
    SELECT number, id, instance, target, created_at, due_at, body FROM publishes
    WHERE ${isAmong(sql, 'number', numbers)}`;
  const byNumber = new Map(rows.map((row) => [Number(row.number), row]));
  for (const publish of publishes) {
    const row = byNumber.get(publish.number);
    if (row !== undefined) publish.underWay = underWayOf(row);
  }
}

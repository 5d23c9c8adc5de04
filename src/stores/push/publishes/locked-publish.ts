import type { TransactionSQL } from 'bun';
import type { AfterJob, PublishUnderWay } from '../../../push/model/delivery.ts';
import type { PublishId, PublishState, PublishTarget } from '../../../push/model/publish.ts';
import type { Dialect } from '../../database/dialect.ts';
import { isAmong } from '../../database/number-list.ts';
import type { BigInteger } from '../devices/device-rows.ts';
import { Tally } from './publish-counts.ts';

/** What a change says of its publish once it is committed. */
export interface Answer {
  after: AfterJob;
}

interface HeldRow {
  readonly number: BigInteger;
  readonly instance: BigInteger;
  readonly state: PublishState;
  readonly due_at: BigInteger;
}

interface WholeRow {
  readonly number: BigInteger;
  readonly id: PublishId;
  readonly target: PublishTarget['kind'];
  readonly created_at: BigInteger;
  readonly body: string;
}

/** A publish that a commit holds: until its end, nobody else changes what is counted or waits of it. */
export class HeldPublish {
  readonly number: number;
  readonly instance: number;
  readonly dueAtMs: number;
  readonly tally = new Tally();
  state: PublishState;
  /** As it is kept. */
  readonly stateBefore: PublishState;
  /** Whether it was cancelled by this commit. What the commit has claimed counted as under way then. */
  isCancelledNow = false;
  /** Who did the last of it, where something was done that may have been the last of all. */
  last: { readonly answer: Answer; readonly nowMs: number } | undefined;
  private whole: PublishUnderWay | undefined;

  constructor(row: HeldRow) {
    this.number = Number(row.number);
    this.instance = Number(row.instance);
    this.dueAtMs = Number(row.due_at);
    this.state = row.state;
    this.stateBefore = row.state;
  }

  get isOver(): boolean {
    return this.state === 'finished' || this.state === 'cancelled';
  }

  /** With all that whoever works on it needs; the body may be large. It must have been read. */
  get underWay(): PublishUnderWay {
    if (this.whole === undefined) throw new Error('a publish is gone while it is held');
    return this.whole;
  }

  /** Something was done that may have been the last of it; whoever did the last of a commit is told so. */
  wasKept(answer: Answer, nowMs: number): void {
    this.wasKeptInPart(answer);
    this.last = { answer, nowMs };
  }

  /** Something was done, and more of the same job is to follow. */
  wasKeptInPart(answer: Answer): void {
    answer.after = this.state === 'cancelled' ? 'cancelled' : 'under-way';
  }

  /** It was read whole. */
  take({ id, target, created_at, body }: WholeRow): void {
    this.whole = {
      number: this.number,
      id,
      instance: this.instance,
      kind: target,
      body,
      createdAtMs: Number(created_at),
      dueAtMs: this.dueAtMs,
    };
  }
}

/** Holds publishes, in the order of their numbers; without those that are gone. */
export async function holdPublishes(
  dialect: Dialect,
  sql: TransactionSQL,
  numbers: readonly number[],
): Promise<ReadonlyMap<number, HeldPublish>> {
  const rows: HeldRow[] = await sql`
    SELECT number, instance, state, due_at FROM publishes
    WHERE ${isAmong(dialect, sql, 'number', numbers)} ORDER BY number
    ${dialect === 'postgres' ? sql`FOR NO KEY UPDATE` : sql``}`;
  return new Map(rows.map((row) => [Number(row.number), new HeldPublish(row)]));
}

/** Reads them with what is large. */
export async function readWhole(
  dialect: Dialect,
  sql: TransactionSQL,
  held: readonly HeldPublish[],
): Promise<void> {
  if (held.length === 0) return;
  const numbers = held.map(({ number }) => number);
  const rows: WholeRow[] = await sql`
    SELECT number, id, target, created_at, body FROM publishes
    WHERE ${isAmong(dialect, sql, 'number', numbers)}`;
  const byNumber = new Map(rows.map((row) => [Number(row.number), row]));
  for (const publish of held) {
    const row = byNumber.get(publish.number);
    if (row !== undefined) publish.take(row);
  }
}

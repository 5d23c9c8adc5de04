import type { TransactionSQL } from 'bun';
import type { AfterJob, PublishUnderWay } from '../../push/delivery.ts';
import type { PublishId, PublishState, PublishTarget } from '../../push/publish.ts';
import type { Dialect } from '../dialect.ts';
import type { Batch } from '../write-queue.ts';
import type { BigInteger } from './device-rows.ts';
import { Tally } from './publish-counts.ts';

/** What a change says of its publish once it is committed. */
export interface Answer {
  after: AfterJob;
}

/** Something that a commit does with one publish while it holds it; nothing where the publish is gone. */
export interface PublishChange {
  readonly dialect: Dialect;
  readonly publish: number;
  run(sql: TransactionSQL, held: HeldPublish): Promise<void>;
}

interface HeldRow {
  readonly number: BigInteger;
  readonly instance: BigInteger;
  readonly state: PublishState;
  readonly due_at: BigInteger;
}

interface WholeRow {
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
  /** Whether it was cancelled by this commit. What the commit has claimed counted as under way then. */
  isCancelledNow = false;
  private whole: PublishUnderWay | undefined;
  private last: { readonly answer: Answer; readonly nowMs: number } | undefined;

  constructor(row: HeldRow) {
    this.number = Number(row.number);
    this.instance = Number(row.instance);
    this.dueAtMs = Number(row.due_at);
    this.state = row.state;
  }

  get isOver(): boolean {
    return this.state === 'finished' || this.state === 'cancelled';
  }

  /** With all that whoever works on it needs; the body may be large. */
  async underWay(sql: TransactionSQL): Promise<PublishUnderWay> {
    if (this.whole !== undefined) return this.whole;
    const [row]: WholeRow[] = await sql`
      SELECT id, target, created_at, body FROM publishes WHERE number = ${this.number}`;
    if (row === undefined) throw new Error('a publish is gone while it is held');
    this.whole = {
      number: this.number,
      id: row.id,
      instance: this.instance,
      kind: row.target,
      body: row.body,
      createdAtMs: Number(row.created_at),
      dueAtMs: this.dueAtMs,
    };
    return this.whole;
  }

  /** Something was done that may have been the last of it; whoever did the last of a commit is told so. */
  wasKept(answer: Answer, nowMs: number): void {
    answer.after = this.state === 'cancelled' ? 'cancelled' : 'under-way';
    this.last = { answer, nowMs };
  }

  /** Keeps what was counted, and ends the publish where nothing of it waits any more. */
  async settle(sql: TransactionSQL): Promise<void> {
    await this.tally.add(sql, this.number);
    if (this.last === undefined || this.state !== 'delivering') return;
    const [row]: { remaining: BigInteger | null }[] = await sql`
      SELECT SUM(planned - accepted - failed - pruned - expired - cancelled) AS remaining
      FROM publish_outcomes WHERE publish = ${this.number}`;
    if (Number(row?.remaining ?? 0) !== 0) return;
    const { answer, nowMs } = this.last;
    await sql`UPDATE publishes SET state = 'finished', finished_at = ${nowMs}
      WHERE number = ${this.number}`;
    this.state = 'finished';
    answer.after = 'finished';
  }
}

/**
 * All that changes what is counted or waits of a publish is done here, publish by publish in one order: two commits
 * then wait for each other, and never in a circle. Only claims are made before, and wait for the publish with what
 * they have claimed in their hands: so nobody who holds a publish may wait for one of its rows. One that somebody
 * holds is being taken over.
 */
export const publishChanges: Batch<PublishChange> = {
  // After the devices of an instance are counted, whose row is held by many as well.
  place: 1,
  async run(sql, items) {
    const byPublish = [...Map.groupBy(items, ({ publish }) => publish)].sort(([a], [b]) => a - b);
    for (const [publish, changes] of byPublish) {
      const held = await hold(sql, publish, changes[0]?.dialect);
      if (held === undefined) continue;
      for (const change of changes) await change.run(sql, held);
      await held.settle(sql);
    }
  },
};

async function hold(
  sql: TransactionSQL,
  publish: number,
  dialect: Dialect | undefined,
): Promise<HeldPublish | undefined> {
  const [row]: HeldRow[] = await sql`
    SELECT number, instance, state, due_at FROM publishes WHERE number = ${publish}
    ${dialect === 'postgres' ? sql`FOR NO KEY UPDATE` : sql``}`;
  return row === undefined ? undefined : new HeldPublish(row);
}

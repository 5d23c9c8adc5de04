import type { TransactionSQL } from 'bun';
import type { AfterJob, ClaimedPlan } from '../../../push/model/delivery.ts';
import type {
  AddedPage,
  PlanEnd,
  PlanPostponed,
  StoredPage,
  WantedPlans,
} from '../../../push/planning-store.ts';
import type { Database } from '../../database/database.ts';
import { isPostgres, skipLocked } from '../../database/dialect.ts';
import type { BigInteger } from '../../database/rows.ts';
import type { Later } from '../../database/write-queue.ts';
import { liveOfPlan } from '../publishes/live-results.ts';
import type { LockedAnswer } from '../publishes/locked-publish.ts';
import { changeTogether, publishChanges } from '../publishes/publish-changes.ts';
import { addPages, type PageToAdd } from './add-pages.ts';
import { claimedWork, type PendingClaim, readyInstances } from './due-work.ts';
import { claimFairly, roundRobin } from './fair-claims.ts';
import { readTaken } from './taken-times.ts';

interface PlanRow {
  readonly instance: BigInteger;
  readonly publish: BigInteger;
  readonly planned_to: BigInteger;
  readonly taken: string | null;
  readonly live: number | null;
}

/** Claims plans, and adds the pages that are made of them. */
export class Planning {
  private readonly database: Database;
  private readonly server: string;
  /** The instance that was served last. */
  private lastInstance = 0;

  constructor(database: Database, server: string) {
    this.database = database;
    this.server = server;
  }

  async claim(wanted: WantedPlans): Promise<readonly ClaimedPlan[]> {
    const { limit, limitPerInstance } = wanted;
    const ready = await readyInstances(this.database.read, ['publish_plans'], wanted);
    if (ready.size === 0) return [];
    const claims = await this.database.write(async (sql, later) => {
      const pending: PendingClaim<ClaimedPlan>[] = [];
      const last = await claimFairly({
        owners: roundRobin(ready, this.lastInstance),
        limit,
        limitPerOwner: limitPerInstance,
        claim: async (instances, count) => {
          const plans = await this.claimRows(sql, { instances, count, ...wanted });
          for (const plan of plans) pending.push(this.confirmLater(later, plan, wanted.nowMs));
          const byInstance = Map.groupBy(plans, ({ instance }) => Number(instance));
          return new Map([...byInstance].map(([instance, some]) => [instance, some.length]));
        },
      });
      this.lastInstance = last ?? this.lastInstance;
      return pending;
    });
    return claimedWork(claims);
  }

  async addPage({
    publish,
    page,
    claimedUntilMs,
    heldUntilMs,
    cap,
  }: AddedPage): Promise<StoredPage | undefined> {
    const added = await this.database.write((_, later) => {
      const answer: PageToAdd['answer'] = { page: undefined, overCap: [] };
      const item = { page, claimedUntilMs, heldUntilMs, cap, server: this.server, answer };
      later(publishChanges, changeTogether(publish, addPages, item));
      return answer;
    });
    const { page: number, overCap } = added;
    return number === undefined ? undefined : { page: number, overCap };
  }

  async postpone({ publish, after, untilMs }: PlanPostponed): Promise<void> {
    const { server } = this;
    await this.database.write(async (_, later) => {
      later(publishChanges, {
        publish,
        async run(sql, { isOver }) {
          if (isOver) return;
          await sql`UPDATE publish_plans SET ready_at = ${untilMs}, leased_by = NULL
            WHERE publish IN (
              SELECT publish FROM publish_plans
              WHERE publish = ${publish} AND planned_to = ${after} AND ended = 0
                AND leased_by = ${server}
              ${skipLocked(sql)})`;
        },
      });
    });
  }

  async end({ publish, after, nowMs }: PlanEnd): Promise<AfterJob> {
    const ended = await this.database.write(async (_, later) => {
      const answer: LockedAnswer = { after: 'stale' };
      later(publishChanges, {
        publish,
        async run(sql, locked) {
          if (locked.state === 'cancelled') answer.after = 'cancelled';
          if (locked.isOver || !(await endAt(sql, publish, after))) return;
          locked.state = 'delivering';
          locked.recorded(answer, nowMs);
        },
      });
      return answer;
    });
    return ended.after;
  }

  /**
   * Claims up to `count` plans of each instance, in the order of the instances. The outer conditions repeat the inner
   * ones, because another server may claim a row in between.
   */
  private async claimRows(
    sql: TransactionSQL,
    {
      instances,
      count,
      nowMs,
      untilMs,
    }: WantedPlans & { readonly instances: readonly number[]; readonly count: number },
  ): Promise<readonly PlanRow[]> {
    const due = isPostgres(sql)
      ? sql`
            SELECT found.publish FROM unnest(${sql.array([...instances], 'BIGINT')}) AS wanted (instance)
            CROSS JOIN LATERAL (
              SELECT publish FROM publish_plans
              WHERE ready_at IS NOT NULL AND (instance, ready_at) >= (wanted.instance, 0)
                AND (instance, ready_at) <= (wanted.instance, ${nowMs})
              ORDER BY instance, ready_at, publish LIMIT ${count} FOR UPDATE SKIP LOCKED) AS found`
      : sql`
            SELECT plan.publish FROM json_each(${JSON.stringify(instances)}) AS wanted
            JOIN publish_plans AS plan ON plan.publish IN (
              SELECT publish FROM publish_plans
              WHERE ready_at IS NOT NULL AND instance = wanted.value AND ready_at <= ${nowMs}
              ORDER BY ready_at, publish LIMIT ${count})`;
    const claimed: PlanRow[] = await sql`
      WITH due AS MATERIALIZED (${due})
      UPDATE publish_plans SET ready_at = ${untilMs}, leased_by = ${this.server}
      WHERE ready_at <= ${nowMs} AND publish IN (SELECT publish FROM due)
      RETURNING instance, publish, planned_to, taken, live`;
    const turn = new Map(instances.map((instance, at) => [instance, at]));
    const turnOf = ({ instance }: PlanRow) => turn.get(Number(instance)) ?? 0;
    return claimed.sort((a, b) => turnOf(a) - turnOf(b) || Number(a.publish) - Number(b.publish));
  }

  /** Completes the claim once the publish is locked, unless that is finished or cancelled. */
  private confirmLater(later: Later, plan: PlanRow, nowMs: number): PendingClaim<ClaimedPlan> {
    const publish = Number(plan.publish);
    const claim: PendingClaim<ClaimedPlan> = { work: undefined };
    later(publishChanges, {
      publish,
      needsBody: true,
      async run(sql, locked) {
        if (locked.isOver) {
          await sql`UPDATE publish_plans SET ready_at = NULL WHERE publish = ${publish}`;
          return;
        }
        const live = plan.live === null ? undefined : await liveOfPlan(sql, publish, nowMs);
        const after = Number(plan.planned_to);
        claim.work = { publish: locked.underWay, after, taken: readTaken(plan.taken), live };
      },
    });
    return claim;
  }
}

/** Ends planning. `false` if another server has continued the plan. */
async function endAt(sql: TransactionSQL, publish: number, after: number): Promise<boolean> {
  const { count } = await sql`
    UPDATE publish_plans SET ended = 1, ready_at = NULL, leased_by = NULL
    WHERE publish IN (
      SELECT publish FROM publish_plans
      WHERE publish = ${publish} AND planned_to = ${after} AND ended = 0
      ${skipLocked(sql)})`;
  return count > 0;
}

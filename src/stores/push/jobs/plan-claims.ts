import type { TransactionSQL } from 'bun';
import type { NewPage, PlanningClaim } from '../../../push/model/delivery.ts';
import type { Database } from '../../database/database.ts';
import type { Dialect } from '../../database/dialect.ts';
import { skipLocked } from '../../database/dialect.ts';
import type { Later } from '../../database/write-queue.ts';
import type { BigInteger } from '../devices/device-rows.ts';
import type { Answer } from '../publishes/locked-publish.ts';
import { changeTogether, publishChanges } from '../publishes/publish-changes.ts';
import { addPages, type PageToAdd } from './add-pages.ts';
import { type Handed, handed, readyInstances } from './due-work.ts';
import { inTurn, takeFairly } from './fair-claims.ts';

/** What is wanted, and until when it is claimed. */
export interface WantedPlans {
  readonly nowMs: number;
  readonly untilMs: number;
  readonly most: number;
  /** Of one instance, at most. */
  readonly mostOfEach: number;
  /** Instances that nothing is wanted of. */
  readonly except: readonly number[];
}

interface ClaimedPlan {
  readonly instance: BigInteger;
  readonly publish: BigInteger;
  readonly planned_to: BigInteger;
}

/** Hands out publishes to plan, and keeps the pages that are made of them. */
export class Planning {
  private readonly database: Database;
  private readonly server: string;
  /** The instance that was served last. */
  private turn = 0;

  constructor(database: Database, server: string) {
    this.database = database;
    this.server = server;
  }

  async claim({
    nowMs,
    untilMs,
    most,
    except,
    mostOfEach,
  }: WantedPlans): Promise<readonly PlanningClaim[]> {
    const ready = await readyInstances(this.database.read, ['publish_plans'], nowMs, except);
    if (ready.size === 0) return [];
    const claimed = await this.database.write(async (sql, later) => {
      const claims: Handed<PlanningClaim>[] = [];
      const take = async (instances: readonly number[], count: number) => {
        const plans = await this.claimSome(sql, instances, count, nowMs, untilMs);
        for (const plan of plans) claims.push(this.handOut(later, plan));
        const byInstance = Map.groupBy(plans, ({ instance }) => Number(instance));
        return new Map([...byInstance].map(([instance, some]) => [instance, some.length]));
      };
      const last = await takeFairly(inTurn(ready, this.turn), most, take, mostOfEach);
      this.turn = last ?? this.turn;
      return claims;
    });
    return handed(claimed);
  }

  async addPage(publish: number, page: NewPage, untilMs: number): Promise<number | undefined> {
    const added = await this.database.write((_, later) => {
      const answer: PageToAdd['answer'] = { page: undefined };
      const item = { page, untilMs, server: this.server, answer };
      later(publishChanges, changeTogether(this.database.dialect, publish, addPages, item));
      return answer;
    });
    return added.page;
  }

  async end(publish: number, after: number, nowMs: number): Promise<Answer['after']> {
    const { dialect } = this.database;
    const ended = await this.database.write(async (_, later) => {
      const answer: Answer = { after: 'stale' };
      later(publishChanges, {
        dialect,
        publish,
        async run(sql, held) {
          if (held.state === 'cancelled') answer.after = 'cancelled';
          if (held.isOver || !(await endAt(dialect, sql, publish, after))) return;
          held.state = 'delivering';
          held.wasKept(answer, nowMs);
        },
      });
      return answer;
    });
    return ended.after;
  }

  /** Of each instance so many. The outer conditions repeat the inner ones: another process may have claimed a row in between. */
  private async claimSome(
    sql: TransactionSQL,
    instances: readonly number[],
    count: number,
    nowMs: number,
    untilMs: number,
  ): Promise<readonly ClaimedPlan[]> {
    const due =
      this.database.dialect === 'postgres'
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
    const claimed: ClaimedPlan[] = await sql`
      WITH due AS MATERIALIZED (${due})
      UPDATE publish_plans SET ready_at = ${untilMs}, leased_by = ${this.server}
      WHERE ready_at <= ${nowMs} AND publish IN (SELECT publish FROM due)
      RETURNING instance, publish, planned_to`;
    const turn = new Map(instances.map((instance, at) => [instance, at]));
    const turnOf = ({ instance }: ClaimedPlan) => turn.get(Number(instance)) ?? 0;
    return claimed.sort((a, b) => turnOf(a) - turnOf(b) || Number(a.publish) - Number(b.publish));
  }

  private handOut(later: Later, plan: ClaimedPlan): Handed<PlanningClaim> {
    const publish = Number(plan.publish);
    const claim: Handed<PlanningClaim> = { work: undefined };
    later(publishChanges, {
      dialect: this.database.dialect,
      publish,
      isHandedOn: true,
      async run(sql, held) {
        if (held.isOver) {
          // It was cancelled while it was being claimed.
          await sql`UPDATE publish_plans SET ready_at = NULL WHERE publish = ${publish}`;
          return;
        }
        claim.work = { publish: held.underWay, after: Number(plan.planned_to) };
      },
    });
    return claim;
  }
}

/** `false`: planning is elsewhere by now. */
async function endAt(
  dialect: Dialect,
  sql: TransactionSQL,
  publish: number,
  after: number,
): Promise<boolean> {
  const { count } = await sql`
    UPDATE publish_plans SET ended = 1, ready_at = NULL, leased_by = NULL
    WHERE publish IN (
      SELECT publish FROM publish_plans
      WHERE publish = ${publish} AND planned_to = ${after} AND ended = 0
      ${skipLocked(dialect, sql)})`;
  return count > 0;
}

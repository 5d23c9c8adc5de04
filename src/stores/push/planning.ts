import type { TransactionSQL } from 'bun';
import type { NewPage, PlanningClaim } from '../../push/delivery.ts';
import { platforms } from '../../push/device.ts';
import type { Database } from '../database.ts';
import type { Dialect } from '../dialect.ts';
import type { Later } from '../write-queue.ts';
import type { BigInteger } from './device-rows.ts';
import { writeDevices } from './page-devices.ts';
import { type Answer, type HeldPublish, publishChanges } from './publish-changes.ts';
import { inTurn, takeFairly } from './turns.ts';
import { type Handed, handed, isReady, readyInstances, unlessHeld } from './waiting.ts';

interface ClaimedPlan {
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

  async claim(
    nowMs: number,
    untilMs: number,
    most: number,
    except: readonly number[],
  ): Promise<readonly PlanningClaim[]> {
    const ready = await readyInstances(this.database.read, ['publish_plans'], nowMs, except);
    if (ready.size === 0) return [];
    const claimed = await this.database.write(async (sql, later) => {
      const claims: Handed<PlanningClaim>[] = [];
      const last = await takeFairly(inTurn(ready, this.turn), most, async (instance, count) => {
        const plans = await this.claimSome(sql, instance, count, nowMs, untilMs);
        for (const plan of plans) claims.push(this.handOut(later, plan));
        return plans.length;
      });
      this.turn = last ?? this.turn;
      return claims;
    });
    return handed(claimed);
  }

  async addPage(publish: number, page: NewPage, untilMs: number): Promise<number | undefined> {
    const { dialect } = this.database;
    const added = await this.database.write(async (_, later) => {
      const answer: { page: number | undefined } = { page: undefined };
      later(publishChanges, {
        dialect,
        publish,
        run: async (sql, held) => {
          if (held.isOver || !(await goOn(dialect, sql, publish, page))) return;
          answer.page = await this.insertPage(sql, held, page, untilMs);
        },
      });
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
          await sql`UPDATE publishes SET state = 'delivering' WHERE number = ${publish}`;
          held.state = 'delivering';
          held.wasKept(answer, nowMs);
        },
      });
      return answer;
    });
    return ended.after;
  }

  /** The outer conditions repeat the inner ones: another process may have claimed a row in between. */
  private async claimSome(
    sql: TransactionSQL,
    instance: number,
    count: number,
    nowMs: number,
    untilMs: number,
  ): Promise<readonly ClaimedPlan[]> {
    const claimed: ClaimedPlan[] = await sql`
      WITH due AS MATERIALIZED (
        SELECT publish FROM publish_plans
        WHERE ${isReady(sql, instance, nowMs)}
        ORDER BY instance, ready_at, publish LIMIT ${count} ${unlessHeld(this.database.dialect, sql)})
      UPDATE publish_plans SET ready_at = ${untilMs}, leased_by = ${this.server}
      WHERE ready_at <= ${nowMs} AND publish IN (SELECT publish FROM due)
      RETURNING publish, planned_to`;
    return claimed.sort((a, b) => Number(a.publish) - Number(b.publish));
  }

  private handOut(later: Later, plan: ClaimedPlan): Handed<PlanningClaim> {
    const publish = Number(plan.publish);
    const claim: Handed<PlanningClaim> = { work: undefined };
    later(publishChanges, {
      dialect: this.database.dialect,
      publish,
      async run(sql, held) {
        if (held.isOver) {
          // It was cancelled while it was being claimed.
          await sql`UPDATE publish_plans SET ready_at = NULL WHERE publish = ${publish}`;
          return;
        }
        claim.work = { publish: await held.underWay(sql), after: Number(plan.planned_to) };
      },
    });
    return claim;
  }

  private async insertPage(
    sql: TransactionSQL,
    held: HeldPublish,
    { devices, planned }: NewPage,
    untilMs: number,
  ): Promise<number> {
    const [first, last] = [devices[0], devices.at(-1)];
    const sum = platforms.reduce((devicesOf, platform) => devicesOf + planned[platform], 0);
    if (first === undefined || last === undefined || sum !== devices.length) {
      throw new Error('a page without devices, or with others than are counted');
    }
    const isClaimed = untilMs > 0;
    const [made]: { number: BigInteger }[] = await sql`
      INSERT INTO publish_pages ${sql({
        publish: held.number,
        instance: held.instance,
        state: 'waiting',
        first_device: first,
        last_device: last,
        ...planned,
        due_at: held.dueAtMs,
        ready_at: isClaimed ? untilMs : held.dueAtMs,
        leased_by: isClaimed ? this.server : null,
        devices: writeDevices(devices),
      })} RETURNING number`;
    for (const platform of platforms) held.tally.count(platform, 'planned', planned[platform]);
    return Number(made?.number);
  }
}

/** `false`: planning is elsewhere by now. */
async function goOn(
  dialect: Dialect,
  sql: TransactionSQL,
  publish: number,
  { after, upTo }: NewPage,
): Promise<boolean> {
  const { count } = await sql`
    UPDATE publish_plans SET planned_to = ${upTo}
    WHERE publish IN (${planAt(dialect, sql, publish, after)})`;
  return count > 0;
}

async function endAt(
  dialect: Dialect,
  sql: TransactionSQL,
  publish: number,
  after: number,
): Promise<boolean> {
  const { count } = await sql`
    UPDATE publish_plans SET ended = 1, ready_at = NULL, leased_by = NULL
    WHERE publish IN (${planAt(dialect, sql, publish, after)})`;
  return count > 0;
}

/** Finds a publish whose planning has come just there. */
function planAt(dialect: Dialect, sql: TransactionSQL, publish: number, after: number) {
  return sql`
    SELECT publish FROM publish_plans
    WHERE publish = ${publish} AND planned_to = ${after} AND ended = 0
    ${unlessHeld(dialect, sql)}`;
}

import type { TransactionSQL } from 'bun';
import type { LiveStore } from '../../../push/live-store.ts';
import type { PlanLive } from '../../../push/model/delivery.ts';
import {
  LIVE_GRACE_MS,
  type LivePhase,
  type LiveRequest,
  type LiveResult,
  type LiveUserResult,
} from '../../../push/model/live.ts';
import type { RuleCause } from '../../../push/model/publish.ts';
import type { Database } from '../../database/database.ts';
import { skipLocked } from '../../database/dialect.ts';
import { type BigInteger, inPieces } from '../../database/rows.ts';
import type { LockedPublish } from './locked-publish.ts';
import { publishChanges } from './publish-changes.ts';

/** The results of the live parts of publishes, in the store's tables. */
export class StoredLive implements LiveStore {
  private readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }

  async settleLive({
    instance,
    publish,
    result,
    nowMs,
  }: Parameters<LiveStore['settleLive']>[0]): Promise<void> {
    const [found]: { number: BigInteger }[] = await this.database.read`
      SELECT number FROM publishes WHERE id = ${publish} AND instance = ${instance}`;
    if (found === undefined) return;
    await this.database.write((_, later) => {
      later(publishChanges, {
        publish: Number(found.number),
        run: (sql, locked) => settle(sql, locked, { result, nowMs }),
      });
    }, instance);
  }
}

async function settle(
  sql: TransactionSQL,
  locked: LockedPublish,
  { result, nowMs }: { readonly result: LiveResult; readonly nowMs: number },
): Promise<void> {
  const publish = locked.number;
  const row = 'skipped' in result ? { phase: 'skipped', why: result.skipped } : sums(result.users);
  const { count } = await sql`
    UPDATE publish_live_asks SET ${sql(row)} WHERE publish = ${publish} AND phase = 'asking'`;
  // There is a result, or planning has begun without one.
  if (count === 0) return;
  const users = 'skipped' in result ? [] : result.users;
  for (const some of inPieces(users.map((user) => userRow(publish, user, nowMs)))) {
    await sql`INSERT INTO publish_live ${sql(some)}`;
  }
  if (locked.isOver) return;
  await sql`UPDATE publish_plans SET ready_at = ${nowMs}
    WHERE publish IN (
      SELECT publish FROM publish_plans
      WHERE publish = ${publish} AND ended = 0 AND leased_by IS NULL
      ${skipLocked(sql)})`;
}

function sums(users: readonly LiveUserResult[]) {
  const countOf = (wanted: LiveUserResult['state']) =>
    users.filter(({ state }) => state === wanted).length;
  return {
    phase: 'done',
    // Those of a rule for an interest were not known before.
    users: users.length,
    reached: countOf('reached'),
    silent: countOf('silent'),
    absent: countOf('absent'),
    connections: users.reduce((sum, { connections }) => sum + connections, 0),
  };
}

function userRow(publish: number, user: LiveUserResult, nowMs: number) {
  const { userId, state, connections, answeredAfterMs } = user;
  return {
    publish,
    user_id: userId,
    live_state: state,
    connections,
    answered_after_ms: answeredAfterMs === undefined ? null : Math.round(answeredAfterMs),
    at: nowMs,
  };
}

/** The live part of a new publish. */
export function liveAskRow(
  publish: number,
  {
    live,
    rule,
    users,
    isScheduled,
  }: {
    readonly live: LiveRequest;
    readonly rule: RuleCause | undefined;
    readonly users: number;
    readonly isScheduled: boolean;
  },
) {
  return {
    publish,
    phase: isScheduled ? 'scheduled' : 'asking',
    push: live.push,
    wait_ms: live.waitSeconds * 1000,
    users,
    rule: rule === undefined ? null : JSON.stringify(rule),
  };
}

/** Until when planning of a publish waits for the answers of its users. */
export function untilAnswered({ waitSeconds }: Pick<LiveRequest, 'waitSeconds'>, fromMs: number) {
  return fromMs + waitSeconds * 1000 + LIVE_GRACE_MS;
}

/**
 * Decides how to continue the plan of a locked publish with a live part: its users must be asked first, or those who
 * were reached are left out. If the answers did not come in time, everybody is notified.
 */
export async function liveOfPlan(
  sql: TransactionSQL,
  publish: number,
  nowMs: number,
): Promise<PlanLive> {
  const [row]: {
    phase: LivePhase;
    push: LiveRequest['push'];
    wait_ms: BigInteger;
  }[] = await sql`SELECT phase, push, wait_ms FROM publish_live_asks WHERE publish = ${publish}`;
  if (row?.phase === 'scheduled') {
    await sql`UPDATE publish_live_asks SET phase = 'asking' WHERE publish = ${publish}`;
    const untilMs = untilAnswered({ waitSeconds: Number(row.wait_ms) / 1000 }, nowMs);
    await sql`UPDATE publish_plans SET ready_at = ${untilMs}, leased_by = NULL
      WHERE publish = ${publish}`;
    return 'to-be-asked';
  }
  if (row?.phase === 'asking') {
    await sql`UPDATE publish_live_asks SET phase = 'skipped', why = 'no-result'
      WHERE publish = ${publish}`;
  }
  if (row?.phase !== 'done' || row.push === 'always') return { reached: [] };
  const reached: { user_id: string }[] = await sql`
    SELECT user_id FROM publish_live WHERE publish = ${publish} AND live_state = 'reached'`;
  return { reached: reached.map(({ user_id }) => user_id) };
}

import type { SQL } from 'bun';
import type { LiveUserState, StoredLiveUser } from '../../../push/model/live.ts';
import type { BigInteger } from '../../database/rows.ts';

interface UserRow {
  readonly user_id: string;
  readonly live_state: LiveUserState;
  readonly connections: number;
  readonly answered_after_ms: BigInteger | null;
  readonly at: BigInteger;
}

/** What became of a user of a publish in the app; `undefined`: nothing is stored. */
export async function liveUser(
  sql: SQL,
  publish: BigInteger,
  userId: string,
): Promise<StoredLiveUser | undefined> {
  const [row]: UserRow[] = await sql`
    SELECT user_id, live_state, connections, answered_after_ms, at FROM publish_live
    WHERE publish = ${publish} AND user_id = ${userId}`;
  return row && userOf(row);
}

/** The users who got a publish in the app, sorted; `undefined`: it has no live part. */
export async function liveUsersReached(
  sql: SQL,
  publish: number,
): Promise<readonly string[] | undefined> {
  const asks: unknown[] = await sql`
    SELECT 1 FROM publish_live_asks WHERE publish = ${publish}`;
  if (asks.length === 0) return undefined;
  const rows: { user_id: string }[] = await sql`
    SELECT user_id FROM publish_live WHERE publish = ${publish} AND live_state = 'reached'
    ORDER BY user_id`;
  return rows.map(({ user_id }) => user_id);
}

function userOf(row: UserRow): StoredLiveUser {
  return {
    userId: row.user_id,
    state: row.live_state,
    connections: Number(row.connections),
    answeredAfterMs: row.answered_after_ms === null ? undefined : Number(row.answered_after_ms),
    atMs: Number(row.at),
  };
}

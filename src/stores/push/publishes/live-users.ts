import type { SQL } from 'bun';
import type { LiveUserState, StoredLiveUser } from '../../../push/model/live.ts';
import type { PublishId } from '../../../push/model/publish.ts';
import type { BigInteger } from '../../database/rows.ts';

interface UserRow {
  readonly user_id: string;
  readonly live_state: LiveUserState;
  readonly connections: number;
  readonly answered_after_ms: BigInteger | null;
  readonly at: BigInteger;
}

/** The live result of a user of a publish; `undefined`: nothing is stored. */
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

/** A user of a publish with a live part. */
export interface ListedLiveUser extends StoredLiveUser {
  /** Whether a gateway accepted the notification for a device; `undefined`: no device has a final outcome. */
  readonly isNotified: boolean | undefined;
}

export interface LiveUsersQuery {
  readonly instance: number;
  readonly id: PublishId;
  readonly state: LiveUserState | undefined;
  /** The user to continue after. */
  readonly after: string;
  readonly limit: number;
}

/** Lists the users of a publish that were asked, sorted by their ids; `undefined`: there is no such publish. */
export async function listLiveUsers(
  sql: SQL,
  { instance, id, state, after, limit }: LiveUsersQuery,
): Promise<readonly ListedLiveUser[] | undefined> {
  const [publish]: { number: BigInteger }[] = await sql`
    SELECT number FROM publishes WHERE id = ${id} AND instance = ${instance}`;
  if (publish === undefined) return undefined;
  const ofState = state === undefined ? sql`` : sql`AND live.live_state = ${state}`;
  const rows: (UserRow & { notified: number | null })[] = await sql`
    SELECT live.user_id, live.live_state, live.connections, live.answered_after_ms, live.at,
      users.reached AS notified
    FROM publish_live AS live
    LEFT JOIN publish_users AS users
      ON users.publish = live.publish AND users.user_id = live.user_id
    WHERE live.publish = ${publish.number} AND live.user_id > ${after} ${ofState}
    ORDER BY live.user_id LIMIT ${limit}`;
  return rows.map((row) => ({
    ...userOf(row),
    isNotified: row.notified === null ? undefined : row.notified === 1,
  }));
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

import type { TransactionSQL } from 'bun';
import { LATE_MS, Pace } from '../../../push/model/pace.ts';
import { readPerSecond } from '../../../push/requests/per-second.ts';
import { parseJsonObject } from '../../../runtime/json-object.ts';
import { skipLocked } from '../../database/dialect.ts';
import type { BigInteger } from '../../database/rows.ts';
import type { LockedPublish } from '../publishes/locked-publish.ts';
import { readDues, type StoredDue, writeStoredDues } from '../publishes/page-dues.ts';
import { readPlaces } from '../publishes/page-places.ts';
import { readTaken, writeTaken } from './taken-times.ts';

interface ClaimedPage {
  readonly number: BigInteger;
  readonly done: string;
  readonly dues: string;
}

/** How long a late page waits while its publish is being planned, because the planner gives times, too. */
const PLANNING_MS = 5_000;

/**
 * Moves the devices of a page that is late to the end of its publish, if that says how many notifications it sends per
 * second: after an outage, all that became due meanwhile would be sent at once. Returns whether it gave the page back.
 */
export async function moveIfLate(
  sql: TransactionSQL,
  locked: LockedPublish,
  { number, done, dues }: ClaimedPage,
  nowMs: number,
): Promise<boolean> {
  const times = readDues(dues);
  const isLate = ({ atMs, pacedMs }: StoredDue) => pacedMs !== undefined && atMs < nowMs - LATE_MS;
  const known = readPlaces(done);
  const late = times.filter((due) => isLate(due) && !due.places.isSubsetOf(known));
  if (late.length === 0) return false;
  const pace = await paceOf(sql, locked);
  if (pace === 'planning') {
    await giveBack(sql, number, { dues, atMs: nowMs + PLANNING_MS });
    return true;
  }
  if (pace === undefined) return false;
  pace.forgetBefore(nowMs);
  const moved = late.map(({ places, pacedMs = 0 }) => {
    const left = places.difference(known);
    const atMs = pace.take(nowMs, left.size);
    return { atMs, places, pacedMs: pacedMs + atMs - nowMs };
  });
  await writeTaken(sql, locked.number, pace.taken);
  const others = times.filter((due) => !late.includes(due));
  const open = [...others.filter(({ places }) => !places.isSubsetOf(known)), ...moved];
  const all = writeStoredDues([...others, ...moved]);
  const atMs = Math.min(...open.map((due) => due.atMs));
  await giveBack(sql, number, { dues: all, atMs });
  return true;
}

/** `undefined`: its body can no longer be read, or another server is claiming the plan. */
async function paceOf(
  sql: TransactionSQL,
  { number, underWay }: LockedPublish,
): Promise<Pace | 'planning' | undefined> {
  const perSecond = readPerSecond(parseJsonObject(underWay.body)?.['perSecond']);
  if (perSecond === undefined) return undefined;
  const [plan]: { taken: string | null; is_planned: number }[] = await sql`
    SELECT taken, CASE WHEN ended = 0 AND leased_by IS NOT NULL THEN 1 ELSE 0 END AS is_planned
    FROM publish_plans WHERE publish = ${number} ${skipLocked(sql)}`;
  if (plan === undefined || Number(plan.is_planned) === 1) return 'planning';
  return new Pace(perSecond, readTaken(plan.taken));
}

async function giveBack(
  sql: TransactionSQL,
  page: BigInteger,
  { dues, atMs }: { readonly dues: string; readonly atMs: number },
): Promise<void> {
  await sql`UPDATE publish_pages
    SET ready_at = ${atMs}, due_at = ${atMs}, leased_by = NULL, dues = ${dues}
    WHERE number = ${page}`;
}

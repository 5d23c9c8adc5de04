import type { SQL, TransactionSQL } from 'bun';
import type { DeliveryBacklog } from '../../../push/model/delivery.ts';
import type { BigInteger } from '../../database/rows.ts';

/** The tables of claimable work. `ready_at` is when a row may be claimed; NULL: never again. */
export type WaitingTable = 'publish_plans' | 'publish_pages' | 'publish_devices';

export const waitingTables: readonly WaitingTable[] = [
  'publish_plans',
  'publish_pages',
  'publish_devices',
];

/** When an instance's earliest work may be claimed. */
interface EarliestWork {
  readonly instance: number;
  readonly readyAtMs: number;
}

/**
 * The earliest work of each instance. Jumps from instance to instance in the index, so its cost does not depend on how
 * much work waits. Work of deleted instances is ignored.
 */
async function earliestWork(sql: SQL, table: WaitingTable): Promise<readonly EarliestWork[]> {
  const rows: { instance: BigInteger; ready_at: BigInteger }[] = await sql.unsafe(`
    WITH RECURSIVE waiting (instance) AS (
      SELECT MIN(instance) FROM ${table} WHERE ready_at IS NOT NULL
      UNION ALL
      SELECT (
        SELECT MIN(instance) FROM ${table}
        WHERE ready_at IS NOT NULL AND instance > waiting.instance)
      FROM waiting WHERE waiting.instance IS NOT NULL
    ), earliest (instance, ready_at) AS (
      SELECT instance, (
        SELECT MIN(ready_at) FROM ${table}
        WHERE ready_at IS NOT NULL AND instance = waiting.instance)
      FROM waiting WHERE instance IS NOT NULL
    )
    SELECT instance, ready_at FROM earliest
    JOIN instance_numbers ON instance_numbers.number = earliest.instance
    WHERE instance_numbers.id IS NOT NULL AND ready_at IS NOT NULL`);
  return rows.map(({ instance, ready_at }) => ({
    instance: Number(instance),
    readyAtMs: Number(ready_at),
  }));
}

/** The instances whose work may be claimed now, except for those of `except`. */
export async function readyInstances(
  sql: SQL,
  tables: readonly WaitingTable[],
  { nowMs, except }: { readonly nowMs: number; readonly except: readonly number[] },
): Promise<ReadonlySet<number>> {
  const waiting = await earliestWorkIn(sql, tables, except);
  return new Set(
    waiting.filter(({ readyAtMs }) => readyAtMs <= nowMs).map(({ instance }) => instance),
  );
}

/** When the earliest work may be claimed, except for the instances of `except`. */
export async function earliestReady(
  sql: SQL,
  except: readonly number[],
): Promise<number | undefined> {
  const waiting = await earliestWorkIn(sql, waitingTables, except);
  const times = waiting.map(({ readyAtMs }) => readyAtMs);
  return times.length === 0 ? undefined : times.reduce((a, b) => Math.min(a, b));
}

async function earliestWorkIn(
  sql: SQL,
  tables: readonly WaitingTable[],
  except: readonly number[],
): Promise<readonly EarliestWork[]> {
  const waiting = await Promise.all(tables.map((table) => earliestWork(sql, table)));
  const unwanted = new Set(except);
  return waiting.flat().filter(({ instance }) => !unwanted.has(instance));
}

export async function countBacklog(sql: SQL): Promise<DeliveryBacklog> {
  const [pages, retries, oldestDueAtMs] = await Promise.all([
    countIn(sql, 'publish_pages'),
    countIn(sql, 'publish_devices'),
    earliestReady(sql, []),
  ]);
  return { pages, retries, oldestDueAtMs };
}

async function countIn(sql: SQL, table: WaitingTable): Promise<number> {
  const [row]: { waiting: BigInteger }[] = await sql`
    SELECT COUNT(*) AS waiting FROM ${sql(table)} WHERE ready_at IS NOT NULL`;
  return Number(row?.waiting ?? 0);
}

/**
 * The condition for work of an instance that may be claimed. Row comparison makes PostgreSQL use the index; otherwise it
 * would sort all rows, because it has no statistics of new ones.
 */
export function isReady(sql: TransactionSQL, instance: number, nowMs: number) {
  return sql`ready_at IS NOT NULL
    AND (instance, ready_at) >= (${instance}, 0) AND (instance, ready_at) <= (${instance}, ${nowMs})`;
}

/** A claim within a commit. `work` is set at the end of the commit, unless the publish was cancelled. */
export interface PendingClaim<Work> {
  work: Work | undefined;
}

export function claimedWork<Work>(claims: readonly PendingClaim<Work>[]): readonly Work[] {
  return claims.flatMap(({ work }) => work ?? []);
}

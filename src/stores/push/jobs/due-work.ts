import type { SQL, TransactionSQL } from 'bun';
import type { DeliveryBacklog } from '../../../push/model/delivery.ts';
import type { BigInteger } from '../devices/device-rows.ts';

/** What waits until it may be claimed. */
export type WaitingTable = 'publish_plans' | 'publish_pages' | 'publish_devices';

export const waitingTables: readonly WaitingTable[] = [
  'publish_plans',
  'publish_pages',
  'publish_devices',
];

/** When the first of an instance's work may be claimed. */
interface Waiting {
  readonly instance: number;
  readonly readyAtMs: number;
}

/**
 * Goes from one instance to the next through an index, however much each of them has. What a deleted instance
 * leaves behind waits for nothing but its removal.
 */
async function waitingIn(sql: SQL, table: WaitingTable): Promise<readonly Waiting[]> {
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

/** The instances with something that may be claimed now, without those of `except`. */
export async function readyInstances(
  sql: SQL,
  from: readonly WaitingTable[],
  nowMs: number,
  except: readonly number[],
): Promise<ReadonlySet<number>> {
  const waiting = await waitingInAny(sql, from, except);
  return new Set(
    waiting.filter(({ readyAtMs }) => readyAtMs <= nowMs).map(({ instance }) => instance),
  );
}

/** When the first of all that waits may be claimed; without what waits of the instances of `except`. */
export async function earliestReady(
  sql: SQL,
  except: readonly number[],
): Promise<number | undefined> {
  const waiting = await waitingInAny(sql, waitingTables, except);
  return least(waiting.map(({ readyAtMs }) => readyAtMs));
}

async function waitingInAny(
  sql: SQL,
  from: readonly WaitingTable[],
  except: readonly number[],
): Promise<readonly Waiting[]> {
  const waiting = await Promise.all(from.map((table) => waitingIn(sql, table)));
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

function least(numbers: readonly number[]): number | undefined {
  return numbers.length === 0 ? undefined : numbers.reduce((a, b) => Math.min(a, b));
}

/**
 * What may be claimed of an instance, in the order of its index. Compared as one, because PostgreSQL then takes it
 * for much and goes through the index; it would else sort all of it, having no statistics of what has just come.
 */
export function isReady(sql: TransactionSQL, instance: number, nowMs: number) {
  return sql`ready_at IS NOT NULL
    AND (instance, ready_at) >= (${instance}, 0) AND (instance, ready_at) <= (${instance}, ${nowMs})`;
}

/** Work that was claimed, once it is known that its publish was not cancelled meanwhile. */
export interface Handed<Work> {
  work: Work | undefined;
}

export function handed<Work>(claims: readonly Handed<Work>[]): readonly Work[] {
  return claims.flatMap(({ work }) => work ?? []);
}

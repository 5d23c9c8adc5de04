import type { TransactionSQL } from 'bun';
import type { Database } from '../database/database.ts';
import type { Later } from '../database/write-queue.ts';
import type { BigInteger } from './devices/device-rows.ts';
import { count } from './devices/instance-counts.ts';

/** Rows that one piece takes away, more or less: so few that whoever waits for the store does not notice. */
const PIECE_ROWS = 500;

/** Devices that one piece looks at: most have few interests, and some have none. */
const PIECE_DEVICES = 100;

/** Publishes that one piece looks at; each has some rows of its own. */
const PIECE_PUBLISHES = 20;

/** Publishes that one piece looks through for those of an instance: all instances' stand in the order they came in. */
const PIECE_LOOKED_THROUGH = 2000;

/** How long a publish can be asked about after it was finished, and a device after it was found dead. */
const KEPT_MS = 30 * 24 * 60 * 60 * 1000;

/** Looks for work of one kind, and does a piece of it; `false`: there was none. */
type Sweep = (nowMs: number) => Promise<boolean>;

/** Takes away, in small pieces, what is left of things that are gone. Several servers may do so at once. */
export class GarbageCollector {
  private readonly database: Database;
  private readonly sweeps: readonly Sweep[];
  /** Whose turn it is: much work of one kind must not keep the others waiting. */
  private turn = 0;
  /** The last publish that was looked at for each deleted instance. */
  private readonly lookedThrough = new Map<number, number>();

  constructor(database: Database) {
    this.database = database;
    this.sweeps = [
      () => this.sweepRemovedDevices(),
      () => this.sweepDeletedInstance(),
      (nowMs) => this.sweepExpiredKeys(nowMs),
      (nowMs) => this.sweepFinishedPublishes(nowMs),
      (nowMs) => this.sweepTombstones(nowMs),
    ];
  }

  /** Does one piece. `false`: nothing was left to do. */
  async collectSome(nowMs: number): Promise<boolean> {
    for (let tried = 0; tried < this.sweeps.length; tried += 1) {
      const sweep = this.sweeps[this.turn];
      this.turn = (this.turn + 1) % this.sweeps.length;
      if (await sweep?.(nowMs)) return true;
    }
    return false;
  }

  private async sweepRemovedDevices(): Promise<boolean> {
    const removed: { number: BigInteger }[] = await this.database.read`
      SELECT number FROM removed_devices ORDER BY number LIMIT ${PIECE_DEVICES}`;
    if (removed.length === 0) return false;
    await this.database.write((sql, later) => forgetDevices(sql, later, numbersOf(removed)));
    return true;
  }

  private async sweepDeletedInstance(): Promise<boolean> {
    const [deleted]: { number: BigInteger }[] = await this.database.read`
      SELECT number FROM instance_numbers WHERE id IS NULL ORDER BY number LIMIT 1`;
    if (deleted === undefined) return false;
    const instance = Number(deleted.number);
    const after = this.lookedThrough.get(instance) ?? 0;
    const last = await this.database.write((sql) => forgetSomeOfInstance(sql, instance, after));
    if (last === undefined) this.lookedThrough.delete(instance);
    else this.lookedThrough.set(instance, last);
    return true;
  }

  private async sweepExpiredKeys(nowMs: number): Promise<boolean> {
    const [expired]: unknown[] = await this.database.read`
      SELECT 1 FROM publish_keys WHERE expires_at <= ${nowMs} LIMIT 1`;
    if (expired === undefined) return false;
    // The outer condition repeats the inner one: the key may have been taken again in between.
    await this.database.write(
      (sql) => sql`
        DELETE FROM publish_keys
        WHERE expires_at <= ${nowMs} AND (instance, idempotency_key) IN (
          SELECT instance, idempotency_key FROM publish_keys
          WHERE expires_at <= ${nowMs} ORDER BY expires_at LIMIT ${PIECE_ROWS})`,
    );
    return true;
  }

  private async sweepFinishedPublishes(nowMs: number): Promise<boolean> {
    const finished: { number: BigInteger }[] = await this.database.read`
      SELECT number FROM publishes
      WHERE finished_at IS NOT NULL AND finished_at <= ${nowMs - KEPT_MS}
      ORDER BY finished_at LIMIT ${PIECE_PUBLISHES}`;
    if (finished.length === 0) return false;
    await this.database.write((sql) => forgetPublishes(sql, numbersOf(finished)));
    return true;
  }

  private async sweepTombstones(nowMs: number): Promise<boolean> {
    const beforeMs = nowMs - KEPT_MS;
    const [old]: unknown[] = await this.database.read`
      SELECT 1 FROM device_tombstones WHERE removed_at <= ${beforeMs} LIMIT 1`;
    if (old === undefined) return false;
    await this.database.write(
      (sql) => sql`
        DELETE FROM device_tombstones WHERE (instance, id) IN (
          SELECT instance, id FROM device_tombstones
          WHERE removed_at <= ${beforeMs} ORDER BY removed_at LIMIT ${PIECE_ROWS})`,
    );
    return true;
  }
}

/** Takes away interests of devices that are removed; a device is forgotten when it has none left. */
async function forgetDevices(
  sql: TransactionSQL,
  later: Later,
  removed: readonly number[],
): Promise<void> {
  // In device order only, which is that of the index: those of many devices need not be sorted for it.
  const rows: { device: BigInteger; interest: string }[] = await sql`
    SELECT device, interest FROM device_interests WHERE device IN ${sql(removed)}
    ORDER BY device LIMIT ${PIECE_ROWS}`;
  const cut = rows.length < PIECE_ROWS ? undefined : rows.at(-1)?.device;
  if (cut !== undefined) {
    const some = rows.filter(({ device }) => device === cut).map(({ interest }) => interest);
    const deleted: InterestRow[] = await sql`
      DELETE FROM device_interests WHERE device = ${cut} AND interest IN ${sql(some)}
      RETURNING instance`;
    countGone(later, deleted);
  }
  const whole = allBefore(removed, cut);
  if (whole.length === 0) return;
  const deleted: InterestRow[] = await sql`
    DELETE FROM device_interests WHERE device IN ${sql(whole)} RETURNING instance`;
  countGone(later, deleted);
  await sql`DELETE FROM removed_devices WHERE number IN ${sql(whole)}`;
}

interface InterestRow {
  readonly instance: BigInteger;
}

function countGone(later: Later, deleted: readonly InterestRow[]): void {
  for (const [instance, rows] of Map.groupBy(deleted, ({ instance }) => Number(instance))) {
    count(later, { instance, interests: -rows.length });
  }
}

/** Rows that a publish may have any number of, and the column by which their own index goes on after it. */
const rowsOfPublishes = [
  { table: 'publish_reports', key: 'device' },
  { table: 'publish_devices', key: 'device' },
  { table: 'publish_users', key: 'user_id' },
  { table: 'publish_pages', key: 'last_device' },
] as const;

/** Takes away publishes with all that is known of them; first that of which there may be much. */
async function forgetPublishes(sql: TransactionSQL, publishes: readonly number[]): Promise<void> {
  let left = PIECE_ROWS;
  for (const { table, key } of rowsOfPublishes) {
    left -= await forgetRows(sql, table, key, publishes, left);
    if (left <= 0) return;
  }
  await sql`DELETE FROM publish_outcomes WHERE publish IN ${sql(publishes)}`;
  await sql`DELETE FROM publish_reasons WHERE publish IN ${sql(publishes)}`;
  await sql`DELETE FROM publish_feedback WHERE publish IN ${sql(publishes)}`;
  await sql`DELETE FROM publish_plans WHERE publish IN ${sql(publishes)}`;
  await sql`DELETE FROM untold_ends WHERE publish IN ${sql(publishes)}`;
  await sql`DELETE FROM publishes WHERE number IN ${sql(publishes)}`;
}

/** Takes away so many rows of publishes, or all, and gives how many: fewer means that none are left. */
async function forgetRows(
  sql: TransactionSQL,
  table: string,
  key: string,
  publishes: readonly number[],
  most: number,
): Promise<number> {
  const rows: { publish: BigInteger; key: BigInteger }[] = await sql`
    SELECT publish, ${sql(key)} AS key FROM ${sql(table)} WHERE publish IN ${sql(publishes)}
    ORDER BY publish, ${sql(key)} LIMIT ${most}`;
  const last = rows.at(-1);
  if (last === undefined) return 0;
  const whole = allBefore(publishes, last.publish);
  if (whole.length > 0) await sql`DELETE FROM ${sql(table)} WHERE publish IN ${sql(whole)}`;
  await sql`DELETE FROM ${sql(table)}
    WHERE publish = ${last.publish} AND ${sql(key)} <= ${last.key}`;
  return rows.length;
}

/**
 * Does the first of these that finds something; where none does, the number itself goes. Each reads in the
 * order of an index: otherwise PostgreSQL may go through all that the pieces before have deleted. Gives the publish
 * after which the next piece goes on; `undefined`: nothing is left.
 */
async function forgetSomeOfInstance(
  sql: TransactionSQL,
  instance: number,
  after: number,
): Promise<number | undefined> {
  if (await forgetInterests(sql, instance)) return after;

  const devices = await devicesOf(sql, instance);
  if (devices.length > 0) {
    await sql`DELETE FROM devices WHERE number IN ${sql(devices)}`;
    return after;
  }
  if (await forgetKeys(sql, instance)) return after;
  if (await forgetTombstones(sql, instance)) return after;

  // No index leads from an instance to its publishes: it would cost each publish more than all the rest.
  const publishes: { number: BigInteger; instance: BigInteger }[] = await sql`
    SELECT number, instance FROM publishes WHERE number > ${after}
    ORDER BY number LIMIT ${PIECE_LOOKED_THROUGH}`;
  const own = publishes.filter((publish) => Number(publish.instance) === instance);
  if (own.length > 0) {
    await forgetPublishes(sql, numbersOf(own.slice(0, PIECE_PUBLISHES)));
    return after;
  }
  const last = publishes.at(-1);
  if (last !== undefined) return Number(last.number);

  await forgetNumber(sql, instance);
  return undefined;
}

async function forgetInterests(sql: TransactionSQL, instance: number): Promise<boolean> {
  const rows: { interest: string; device: BigInteger }[] = await sql`
    SELECT interest, device FROM device_interests WHERE instance = ${instance}
    ORDER BY interest, device LIMIT ${PIECE_ROWS}`;
  const last = rows.at(-1);
  if (last === undefined) return false;
  await sql`DELETE FROM device_interests
    WHERE instance = ${instance} AND (interest, device) <= (${last.interest}, ${last.device})`;
  return true;
}

async function devicesOf(sql: TransactionSQL, instance: number): Promise<readonly number[]> {
  const rows: { number: BigInteger }[] = await sql`
    SELECT number FROM devices WHERE instance = ${instance}
    ORDER BY token_identity LIMIT ${PIECE_ROWS}`;
  return numbersOf(rows);
}

async function forgetKeys(sql: TransactionSQL, instance: number): Promise<boolean> {
  const rows: { idempotency_key: string }[] = await sql`
    SELECT idempotency_key FROM publish_keys WHERE instance = ${instance}
    ORDER BY idempotency_key LIMIT ${PIECE_ROWS}`;
  const last = rows.at(-1);
  if (last === undefined) return false;
  await sql`DELETE FROM publish_keys
    WHERE instance = ${instance} AND idempotency_key <= ${last.idempotency_key}`;
  return true;
}

async function forgetTombstones(sql: TransactionSQL, instance: number): Promise<boolean> {
  const rows: { id: string }[] = await sql`
    SELECT id FROM device_tombstones WHERE instance = ${instance}
    ORDER BY id LIMIT ${PIECE_ROWS}`;
  const last = rows.at(-1);
  if (last === undefined) return false;
  await sql`DELETE FROM device_tombstones WHERE instance = ${instance} AND id <= ${last.id}`;
  return true;
}

async function forgetNumber(sql: TransactionSQL, instance: number): Promise<void> {
  // Locks the row, which whoever registers a device changes too: what is there is seen from here on.
  await sql`UPDATE instance_numbers SET devices = 0 WHERE number = ${instance} AND id IS NULL`;
  if ((await devicesOf(sql, instance)).length > 0) return;
  await sql`DELETE FROM instance_numbers WHERE number = ${instance} AND id IS NULL`;
}

/** Those that a list, cut off within the rows of `cut`, held whole. */
function allBefore(numbers: readonly number[], cut: BigInteger | undefined): readonly number[] {
  return cut === undefined ? numbers : numbers.filter((number) => number < Number(cut));
}

function numbersOf(rows: readonly { readonly number: BigInteger }[]): readonly number[] {
  return rows.map(({ number }) => Number(number));
}

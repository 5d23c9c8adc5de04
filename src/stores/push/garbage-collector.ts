import type { TransactionSQL } from 'bun';
import { ACTIVITY_TOKEN_KEPT_MS } from '../../push/model/token-kind.ts';
import type { Database } from '../database/database.ts';
import type { BigInteger } from '../database/rows.ts';
import type { Later } from '../database/write-queue.ts';
import { removeDevices } from './devices/device-rows.ts';
import { count } from './devices/instance-counts.ts';

/** Rows that one piece deletes, about: few enough not to delay other commits. */
const PIECE_ROWS = 500;

/** The limit of removed devices per chunk: most have few interests, and some have none. */
const PIECE_DEVICES = 100;

/** Publishes that one piece deletes; each has some rows of its own. */
const PIECE_PUBLISHES = 20;

/** How long finished publishes and tombstones of devices are kept. */
const KEPT_MS = 30 * 24 * 60 * 60 * 1000;

/** A table whose rows expire, their key within an instance, and the time by which they expire. */
interface ExpiringTable {
  readonly table: string;
  readonly key: string;
  readonly time: string;
}

const idempotencyKeys = { table: 'publish_keys', key: 'idempotency_key', time: 'expires_at' };
const tombstones = { table: 'device_tombstones', key: 'id', time: 'removed_at' };

/** Deleted with their instance, or by their backend. */
const userPreferences = { table: 'user_preferences', key: 'user_id' };

/** Deletes a chunk of one kind of garbage; `false` if there was none. */
type Collect = (nowMs: number) => Promise<boolean>;

/** Deletes rows of deleted instances, devices and users, and rows that have expired, in small pieces. */
export class GarbageCollector {
  private readonly database: Database;
  private readonly collectors: readonly Collect[];
  /** The next kind, so that a lot of garbage of one kind does not delay the others. */
  private turn = 0;

  constructor(database: Database) {
    this.database = database;
    this.collectors = [
      () => this.collectInterests(),
      () => this.collectInstance(),
      (nowMs) => this.collectExpired(idempotencyKeys, nowMs),
      (nowMs) => this.collectPublishes(nowMs),
      (nowMs) => this.collectExpired(tombstones, nowMs - KEPT_MS),
      (nowMs) => this.collectActivities(nowMs - ACTIVITY_TOKEN_KEPT_MS),
    ];
  }

  /** Deletes one piece. `false`: there was no garbage. */
  async collectSome(nowMs: number): Promise<boolean> {
    for (let tried = 0; tried < this.collectors.length; tried += 1) {
      const collect = this.collectors[this.turn];
      this.turn = (this.turn + 1) % this.collectors.length;
      if (await collect?.(nowMs)) return true;
    }
    return false;
  }

  private async collectInterests(): Promise<boolean> {
    const removed: { number: BigInteger }[] = await this.database.read`
      SELECT number FROM removed_devices ORDER BY number LIMIT ${PIECE_DEVICES}`;
    if (removed.length === 0) return false;
    await this.database.write((sql, later) => forgetDevices(sql, later, numbersOf(removed)));
    return true;
  }

  private async collectInstance(): Promise<boolean> {
    const [deleted]: { number: BigInteger }[] = await this.database.read`
      SELECT number FROM instance_numbers WHERE id IS NULL ORDER BY number LIMIT 1`;
    if (deleted === undefined) return false;
    const instance = Number(deleted.number);
    await this.database.write((sql) => forgetSomeOfInstance(sql, instance));
    return true;
  }

  /** Deletes the rows of a table that had expired at `beforeMs`. */
  private async collectExpired(
    { table, key, time }: ExpiringTable,
    beforeMs: number,
  ): Promise<boolean> {
    const { read } = this.database;
    const [expired]: unknown[] = await read`
      SELECT 1 FROM ${read(table)} WHERE ${read(time)} <= ${beforeMs} LIMIT 1`;
    if (expired === undefined) return false;
    // The outer condition repeats the inner one, because a key may be taken again in between.
    await this.database.write(
      (sql) => sql`
        DELETE FROM ${sql(table)}
        WHERE ${sql(time)} <= ${beforeMs} AND (instance, ${sql(key)}) IN (
          SELECT instance, ${sql(key)} FROM ${sql(table)}
          WHERE ${sql(time)} <= ${beforeMs} ORDER BY ${sql(time)} LIMIT ${PIECE_ROWS})`,
    );
    return true;
  }

  private async collectPublishes(nowMs: number): Promise<boolean> {
    const finished: { number: BigInteger }[] = await this.database.read`
      SELECT number FROM publishes
      WHERE finished_at IS NOT NULL AND finished_at <= ${nowMs - KEPT_MS}
      ORDER BY finished_at LIMIT ${PIECE_PUBLISHES}`;
    if (finished.length === 0) return false;
    await this.database.write((sql) => forgetPublishes(sql, numbersOf(finished)));
    return true;
  }

  /** Deletes the tokens of live activities that were registered before. */
  private async collectActivities(beforeMs: number): Promise<boolean> {
    const over: { number: BigInteger; instance: BigInteger }[] = await this.database.read`
      SELECT number, instance FROM devices
      WHERE kind = 'liveactivity' AND registered_at <= ${beforeMs}
      ORDER BY registered_at LIMIT ${PIECE_ROWS}`;
    if (over.length === 0) return false;
    const byInstance = Map.groupBy(over, ({ instance }) => Number(instance));
    await this.database.write(async (sql, later) => {
      for (const [instance, rows] of byInstance) {
        await removeDevices({ sql, later, instance }, numbersOf(rows));
      }
    });
    return true;
  }
}

/** Deletes interests of removed devices, and the record of each device without interests. */
async function forgetDevices(
  sql: TransactionSQL,
  later: Later,
  removed: readonly number[],
): Promise<void> {
  // In the order of the index, so that nothing is sorted.
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
  await sql`DELETE FROM device_caps WHERE device IN ${sql(whole)}`;
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

/** Tables with any number of rows per publish, and the column that follows the publish in their index. */
const rowsOfPublishes = [
  { table: 'publish_reports', key: 'device' },
  { table: 'publish_devices', key: 'device' },
  { table: 'publish_users', key: 'user_id' },
  { table: 'publish_live', key: 'user_id' },
  { table: 'publish_pages', key: 'last_device' },
] as const;

/** Deletes publishes with all their rows, the large tables first. */
async function forgetPublishes(sql: TransactionSQL, publishes: readonly number[]): Promise<void> {
  let left = PIECE_ROWS;
  for (const rows of rowsOfPublishes) {
    left -= await forgetRows(sql, rows, publishes, left);
    if (left <= 0) return;
  }
  await sql`DELETE FROM publish_outcomes WHERE publish IN ${sql(publishes)}`;
  await sql`DELETE FROM publish_reasons WHERE publish IN ${sql(publishes)}`;
  await sql`DELETE FROM publish_feedback WHERE publish IN ${sql(publishes)}`;
  await sql`DELETE FROM publish_plans WHERE publish IN ${sql(publishes)}`;
  await sql`DELETE FROM publish_live_asks WHERE publish IN ${sql(publishes)}`;
  await sql`DELETE FROM untold_ends WHERE publish IN ${sql(publishes)}`;
  await sql`DELETE FROM publishes WHERE number IN ${sql(publishes)}`;
}

/** Deletes up to `limit` rows of publishes. Returns their number; fewer than `limit` means that none are left. */
async function forgetRows(
  sql: TransactionSQL,
  { table, key }: (typeof rowsOfPublishes)[number],
  publishes: readonly number[],
  limit: number,
): Promise<number> {
  const rows: { publish: BigInteger; key: BigInteger }[] = await sql`
    SELECT publish, ${sql(key)} AS key FROM ${sql(table)} WHERE publish IN ${sql(publishes)}
    ORDER BY publish, ${sql(key)} LIMIT ${limit}`;
  const last = rows.at(-1);
  if (last === undefined) return 0;
  const whole = allBefore(publishes, last.publish);
  if (whole.length > 0) await sql`DELETE FROM ${sql(table)} WHERE publish IN ${sql(whole)}`;
  await sql`DELETE FROM ${sql(table)}
    WHERE publish = ${last.publish} AND ${sql(key)} <= ${last.key}`;
  return rows.length;
}

/**
 * Deletes a piece of the first kind of rows that an instance still has, and at last its number. Each statement reads in
 * the order of an index, because PostgreSQL might otherwise scan all rows that earlier pieces have deleted.
 */
async function forgetSomeOfInstance(sql: TransactionSQL, instance: number): Promise<void> {
  if (await forgetInterests(sql, instance)) return;

  const devices = await devicesOf(sql, instance);
  if (devices.length > 0) {
    await sql`DELETE FROM device_caps WHERE device IN ${sql(devices)}`;
    await sql`DELETE FROM devices WHERE number IN ${sql(devices)}`;
    return;
  }
  for (const table of [idempotencyKeys, tombstones, userPreferences]) {
    if (await forgetOfInstance(sql, table, instance)) return;
  }

  const publishes: { number: BigInteger }[] = await sql`
    SELECT number FROM publishes WHERE instance = ${instance}
    ORDER BY instance, number LIMIT ${PIECE_PUBLISHES}`;
  if (publishes.length > 0) return await forgetPublishes(sql, numbersOf(publishes));

  await forgetNumber(sql, instance);
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

async function forgetOfInstance(
  sql: TransactionSQL,
  { table, key }: Omit<ExpiringTable, 'time'>,
  instance: number,
): Promise<boolean> {
  const rows: { key: string }[] = await sql`
    SELECT ${sql(key)} AS key FROM ${sql(table)} WHERE instance = ${instance}
    ORDER BY ${sql(key)} LIMIT ${PIECE_ROWS}`;
  const last = rows.at(-1);
  if (last === undefined) return false;
  await sql`DELETE FROM ${sql(table)} WHERE instance = ${instance} AND ${sql(key)} <= ${last.key}`;
  return true;
}

async function forgetNumber(sql: TransactionSQL, instance: number): Promise<void> {
  // Locks the row, which each registration changes too. Devices registered before are visible from here on.
  await sql`UPDATE instance_numbers SET devices = 0 WHERE number = ${instance} AND id IS NULL`;
  if ((await devicesOf(sql, instance)).length > 0) return;
  await sql`DELETE FROM instance_numbers WHERE number = ${instance} AND id IS NULL`;
}

/** The numbers before `cut`, whose rows were read only in part. */
function allBefore(numbers: readonly number[], cut: BigInteger | undefined): readonly number[] {
  return cut === undefined ? numbers : numbers.filter((number) => number < Number(cut));
}

function numbersOf(rows: readonly { readonly number: BigInteger }[]): readonly number[] {
  return rows.map(({ number }) => Number(number));
}

import type { TransactionSQL } from 'bun';
import { type AfterJob, DEVICE_REMOVED, type DeviceResult, type Job } from '../../push/delivery.ts';
import { type Platform, platforms } from '../../push/device.ts';
import type { Database } from '../database.ts';
import type { Dialect } from '../dialect.ts';
import { markAccepted } from './acceptance.ts';
import { type BigInteger, inPieces } from './device-rows.ts';
import type { Answer, HeldPublish } from './held-publish.ts';
import { isAmong } from './number-list.ts';
import { pruneDevices } from './pruning.ts';
import { changeTogether, publishChanges, type Together } from './publish-changes.ts';
import type { CountName } from './publish-counts.ts';
import { unlessHeld } from './waiting.ts';

type Results = ReadonlyMap<number, DeviceResult>;

/** What is kept of a device that was not accepted at its first attempt. */
type Trouble = Pick<
  Exclude<DeviceResult, { readonly what: 'accepted' }>,
  'device' | 'attempts' | 'reason' | 'words'
> & {
  /** `undefined`: it was gone before anybody looked. */
  readonly platform: Platform | undefined;
  readonly state: Exclude<CountName, 'planned' | 'accepted'>;
  /** When it is tried again, where it is. */
  readonly dueAtMs: number | undefined;
};

/** Keeps what has become of the devices of a job, once for each however often it comes. */
export async function finishJob(
  database: Database,
  server: string,
  { job, ...kind }: Job,
  results: readonly DeviceResult[],
  nowMs: number,
): Promise<AfterJob> {
  const { dialect } = database;
  const { publish, devices } = job;
  const byDevice: Results = new Map(results.map((result) => [result.device, result]));
  const dead = results.filter((result) => result.what === 'pruned');
  const kept = await database.write(async (sql, later) => {
    await pruneDevices(dialect, sql, later, publish.instance, dead, nowMs);
    await markAccepted(dialect, sql, later, publish.instance, results, nowMs);
    const answer: Answer = { after: 'stale' };
    const isToUsers = publish.kind === 'users';
    if (kind.what === 'page') {
      const { page } = kind;
      const item = { page, server, devices, results: byDevice, isToUsers, nowMs, answer };
      later(publishChanges, changeTogether(dialect, publish.number, finishPages, item));
      return answer;
    }
    later(publishChanges, {
      dialect,
      publish: publish.number,
      async run(of, held) {
        const { platform } = kind;
        if (!(await keepRetries(dialect, of, held, server, platform, devices, byDevice, nowMs))) {
          return;
        }
        if (isToUsers) await keepUsers(of, held.number, results);
        held.wasKept(answer, nowMs);
      },
    });
    return answer;
  });
  return kept.after;
}

/** What has become of a page. */
interface FinishedPage {
  readonly page: number;
  readonly server: string;
  readonly devices: readonly number[];
  readonly results: Results;
  readonly isToUsers: boolean;
  readonly nowMs: number;
  readonly answer: Answer;
}

type PlannedRow = Readonly<Record<Platform, number>> & { readonly number: BigInteger };

/** Keeps what has become of pages. Those that are kept already are left alone, or that somebody else has claimed since. */
const finishPages: Together<FinishedPage> = {
  async run(dialect, sql, items) {
    const kinds = Map.groupBy(items, ({ item: { server, nowMs } }) => `${server} ${nowMs}`);
    for (const some of kinds.values()) {
      const [first] = some;
      if (first === undefined) continue;
      const { server, nowMs } = first.item;
      const pages = some.map(({ item }) => item.page);
      const rows: PlannedRow[] = await sql`
        UPDATE publish_pages
        SET state = 'delivered', done_at = ${nowMs}, ready_at = NULL, leased_by = NULL
        WHERE number IN (
          SELECT number FROM publish_pages
          WHERE ${isAmong(dialect, sql, 'number', pages)} AND state = 'waiting' AND leased_by = ${server}
          ${unlessHeld(dialect, sql)})
        RETURNING number, apns, fcm, web`;
      const planned = new Map(rows.map((row) => [Number(row.number), row]));
      for (const { held, item } of some) {
        const row = planned.get(item.page);
        if (row === undefined) continue;
        // The same may have come twice.
        planned.delete(item.page);
        await keepPage(sql, held, item, row);
      }
    }
  },
};

async function keepPage(
  sql: TransactionSQL,
  held: HeldPublish,
  { devices, results, isToUsers, nowMs, answer }: FinishedPage,
  planned: PlannedRow,
): Promise<void> {
  const given = devices.map((device) => results.get(device));
  for (const platform of platforms) {
    const known = given.filter((result) => result?.platform === platform).length;
    countRemoved(held, platform, planned[platform] - known);
  }
  await keepResults(sql, held, devices, results, nowMs);
  if (isToUsers) await keepUsers(sql, held.number, [...results.values()]);
  held.wasKept(answer, nowMs);
}

/** `false`: they are kept already, or somebody else has claimed them since. */
async function keepRetries(
  dialect: Dialect,
  sql: TransactionSQL,
  held: HeldPublish,
  server: string,
  platform: Platform,
  devices: readonly number[],
  results: Results,
  nowMs: number,
): Promise<boolean> {
  const rows: { device: BigInteger }[] = await sql`
    SELECT device FROM publish_devices
    WHERE publish = ${held.number} AND ${isAmong(dialect, sql, 'device', devices)}
      AND leased_by = ${server}
    ORDER BY device ${unlessHeld(dialect, sql)}`;
  const waited = rows.map(({ device }) => Number(device));
  if (waited.length === 0) return false;
  held.tally.count(platform, 'retrying', -waited.length);
  countRemoved(held, platform, waited.filter((device) => !results.has(device)).length);
  const accepted = waited.filter((device) => results.get(device)?.what === 'accepted');
  if (accepted.length > 0) {
    await sql`UPDATE publish_devices
      SET state = 'accepted', attempts = attempts + 1, changed_at = ${nowMs}, ready_at = NULL,
        leased_by = NULL
      WHERE publish = ${held.number} AND leased_by = ${server}
        AND ${isAmong(dialect, sql, 'device', accepted)}`;
  }
  await keepResults(sql, held, waited, results, nowMs);
  return true;
}

function countRemoved(held: HeldPublish, platform: Platform, devices: number): void {
  held.tally.count(platform, 'failed', devices);
  held.tally.countReason(platform, DEVICE_REMOVED, devices);
}

/** Counts what became of each device, and keeps what is to be told of it or done with it later. */
async function keepResults(
  sql: TransactionSQL,
  held: HeldPublish,
  devices: readonly number[],
  results: Results,
  nowMs: number,
): Promise<void> {
  const troubles: Trouble[] = [];
  for (const device of devices) {
    const result = results.get(device);
    if (result?.what === 'accepted') {
      held.tally.count(result.platform, 'accepted', 1);
      continue;
    }
    const trouble = result === undefined ? removed(device) : troubleOf(result, held);
    troubles.push(trouble);
    if (result === undefined) continue;
    held.tally.count(result.platform, trouble.state, 1);
    if (result.what !== 'retry') held.tally.countReason(result.platform, result.reason, 1);
  }
  for (const some of inPieces(troubles)) {
    const rows = some.map((trouble) => troubleRow(held, trouble, nowMs));
    await sql`INSERT INTO publish_devices ${sql(rows)}
      ON CONFLICT (publish, device) DO UPDATE SET
        state = excluded.state, attempts = excluded.attempts, changed_at = excluded.changed_at,
        due_at = excluded.due_at, ready_at = excluded.ready_at, leased_by = excluded.leased_by,
        reason = excluded.reason, words = excluded.words`;
  }
}

function removed(device: number): Trouble {
  return {
    device,
    platform: undefined,
    state: 'failed',
    attempts: 0,
    reason: DEVICE_REMOVED,
    words: '',
    dueAtMs: undefined,
  };
}

function troubleOf(
  result: Exclude<DeviceResult, { readonly what: 'accepted' }>,
  { state }: HeldPublish,
): Trouble {
  const { device, platform, attempts, reason, words } = result;
  const kept = { device, platform, attempts, reason, words };
  if (result.what !== 'retry') return { ...kept, state: result.what, dueAtMs: undefined };
  return state === 'cancelled'
    ? { ...kept, state: 'cancelled', dueAtMs: undefined }
    : { ...kept, state: 'retrying', dueAtMs: result.dueAtMs };
}

function troubleRow(held: HeldPublish, trouble: Trouble, nowMs: number) {
  const { platform, dueAtMs, ...rest } = trouble;
  return {
    ...rest,
    publish: held.number,
    instance: held.instance,
    platform: platform ?? null,
    changed_at: nowMs,
    due_at: dueAtMs ?? nowMs,
    ready_at: dueAtMs ?? null,
    leased_by: null,
  };
}

/** A user with one device that was accepted is reached, whatever became of the others. */
async function keepUsers(
  sql: TransactionSQL,
  publish: number,
  results: readonly DeviceResult[],
): Promise<void> {
  const reached = new Map<string, number>();
  for (const result of results) {
    // A user whose tokens reach nobody has no devices, and one who waits may still be reached.
    if (result.what === 'retry' || result.what === 'pruned') continue;
    if (result.userId === undefined) continue;
    if (result.what === 'accepted') reached.set(result.userId, 1);
    else if (!reached.has(result.userId)) reached.set(result.userId, 0);
  }
  const rows = [...reached].map(([user_id, isReached]) => ({
    publish,
    user_id,
    reached: isReached,
  }));
  for (const some of inPieces(rows)) {
    await sql`INSERT INTO publish_users ${sql(some)}
      ON CONFLICT (publish, user_id) DO UPDATE SET reached = excluded.reached
      WHERE publish_users.reached < excluded.reached`;
  }
}

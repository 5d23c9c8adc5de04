import { createHash } from 'node:crypto';
import type { TransactionSQL } from 'bun';
import { countedBytes } from '../../../push/backlog-store.ts';
import { byPlatform, type Platform } from '../../../push/model/device.ts';
import { lastTaken } from '../../../push/model/pace.ts';
import type {
  Acceptance,
  NewPublish,
  PublishId,
  PublishState,
  PublishStatus,
  Report,
} from '../../../push/model/publish.ts';
import { writeOutline } from '../../../push/model/publish-outline.ts';
import type {
  AfterCancel,
  KeptReport,
  PublishAt,
  PublishStore,
  ReceivedReport,
} from '../../../push/publish-store.ts';
import type { Database } from '../../database/database.ts';
import type { BigInteger } from '../../database/rows.ts';
import type { CommitBatch } from '../../database/write-queue.ts';
import { requireInstance, requireInstances } from '../../tenants/instance-presence.ts';
import { readCounts } from '../devices/instance-counts.ts';
import { readTaken } from '../jobs/taken-times.ts';
import { audiencePageOf } from './audience-page.ts';
import { cancelPublish } from './cancel-publish.ts';
import { liveAskRow, untilAnswered } from './live-results.ts';
import { type LiveColumns, liveStatusOf, ruleCauseOf } from './live-status.ts';
import { PendingBodies, type Room } from './pending-bodies.ts';
import { publishChanges } from './publish-changes.ts';
import { type CountName, countNames } from './publish-counts.ts';
import { stateAt } from './publish-row.ts';

/** A publish with the counts of one platform and one of its reasons. */
interface StatusRow extends Readonly<Record<CountName, BigInteger | null>>, LiveColumns {
  readonly state: PublishState;
  readonly created_at: BigInteger;
  readonly send_at: BigInteger | null;
  readonly delivered: BigInteger | null;
  readonly opened: BigInteger | null;
  readonly platform: Platform | null;
  readonly reason: string | null;
  readonly devices: BigInteger | null;
  readonly next_at: BigInteger | null;
  readonly taken: string | null;
}

interface PlanRow {
  readonly number: BigInteger;
  readonly instance: BigInteger;
  readonly due_at: BigInteger;
}

interface KeyRow {
  readonly fingerprint: string;
  readonly publish_id: PublishId;
  readonly expires_at: BigInteger;
}

/** What a report is about. */
interface Reported {
  readonly publish: number;
  readonly device: number;
  readonly userId: string | undefined;
}

/** Inserts all publishes of a commit with one statement, and their plans with another. */
const insertPublishes: CommitBatch<NewPublish> = {
  async run(sql, publishes) {
    // Otherwise the rows would belong to no instance.
    await requireInstances(sql, new Set(publishes.map(({ instance }) => instance)));
    const made: PlanRow[] = await sql`
      INSERT INTO publishes ${sql(publishes.map(publishRow))} RETURNING number, instance, due_at`;
    const live = publishes.filter((publish) => publish.live !== undefined);
    if (live.length === 0) await sql`INSERT INTO publish_plans ${sql(made.map(planRow))}`;
    else await insertWithLive(sql, made, live);
  },
};

/** Inserts the plans of publishes, some of which have a live part: they wait until its answers have come. */
async function insertWithLive(
  sql: TransactionSQL,
  made: readonly PlanRow[],
  publishes: readonly NewPublish[],
): Promise<void> {
  const numbers: { number: BigInteger; id: PublishId }[] = await sql`
    SELECT number, id FROM publishes WHERE id IN ${sql(publishes.map(({ id }) => id))}`;
  const numberOf = new Map(numbers.map(({ number, id }) => [id, Number(number)]));
  const readyAt = new Map<number, number>();
  const asks = publishes.flatMap(({ id, live, rule, target, createdAtMs, sendAtMs }) => {
    const number = numberOf.get(id);
    if (number === undefined || live === undefined) return [];
    readyAt.set(number, sendAtMs ?? untilAnswered(live, createdAtMs));
    const isScheduled = sendAtMs !== undefined;
    // An interest names no users.
    const users = target.kind === 'users' ? target.names.length : 0;
    return [liveAskRow(number, { live, rule, users, isScheduled })];
  });
  const plans = made.map((plan) => {
    const ready_at = readyAt.get(Number(plan.number));
    const row = planRow(plan);
    return ready_at === undefined ? { ...row, live: null } : { ...row, ready_at, live: 1 };
  });
  await sql`INSERT INTO publish_plans ${sql(plans)}`;
  await sql`INSERT INTO publish_live_asks ${sql(asks)}`;
}

/** Counts all reports of a commit, by the number of their publish, so that two servers never deadlock. */
const countReports: CommitBatch<{ readonly publish: number; readonly event: Report['event'] }> = {
  async run(sql, reports) {
    const byPublish = [...Map.groupBy(reports, ({ publish }) => publish)].sort(([a], [b]) => a - b);
    for (const [publish, given] of byPublish) {
      const opened = given.filter(({ event }) => event === 'open').length;
      const delivered = given.length - opened;
      await sql`INSERT INTO publish_feedback (publish, delivered, opened)
        VALUES (${publish}, ${delivered}, ${opened})
        ON CONFLICT (publish) DO UPDATE SET
          delivered = publish_feedback.delivered + excluded.delivered,
          opened = publish_feedback.opened + excluded.opened`;
    }
  },
};

/** Publishes in the store's tables. Several servers may use one store. */
export class StoredPublishes implements PublishStore {
  private readonly database: Database;
  private readonly pending: PendingBodies;

  constructor(database: Database, pending = new PendingBodies()) {
    this.database = database;
    this.pending = pending;
  }

  accept(publish: NewPublish): Promise<Acceptance> {
    const { instance, body, pendingBytesMax, createdAtMs } = publish;
    if (pendingBytesMax === 0) return this.keep(publish);
    const counted = {
      instance,
      bytes: countedBytes(body),
      max: pendingBytesMax,
      nowMs: createdAtMs,
    };
    const room = this.pending.add(counted, this.database.read);
    if (room === 'free') return this.keep(publish);
    return this.keepIf(publish, room);
  }

  private async keepIf(publish: NewPublish, given: Room | Promise<Room>): Promise<Acceptance> {
    const room = await given;
    if (room === 'none') return { result: 'too-much-pending' };
    return await this.keep(publish, room === 'scarce');
  }

  private keep(publish: NewPublish, isRoomScarce = false): Promise<Acceptance> {
    return this.database.write((sql, later) => {
      const { id } = publish;
      const accepted: Acceptance = isRoomScarce
        ? { result: 'accepted', id, isRoomScarce }
        : { result: 'accepted', id };
      if (publish.devicesMax > 0 || publish.idempotency !== undefined) {
        return refusalOf(sql, publish).then((refused) => {
          if (refused === undefined) later(insertPublishes, publish);
          return refused ?? accepted;
        });
      }
      later(insertPublishes, publish);
      return accepted;
    }, publish.instance);
  }

  async status({ instance, id, nowMs }: PublishAt): Promise<PublishStatus | undefined> {
    const { read } = this.database;
    // One statement, so that the answer is of one moment. A platform with reasons has counts.
    const rows: StatusRow[] = await read`
      SELECT state, created_at, send_at, delivered, opened, outcomes.platform, planned, accepted,
        retrying, failed, pruned, expired, cancelled, reason, reasons.devices,
        phase, push, wait_ms, users, reached, silent, absent, connections, why, rule,
        (SELECT MIN(ready_at) FROM publish_pages
          WHERE publish = publishes.number AND dues <> '' AND ready_at IS NOT NULL) AS next_at,
        (SELECT taken FROM publish_plans WHERE publish = publishes.number) AS taken
      FROM publishes
      LEFT JOIN publish_live_asks AS live ON live.publish = publishes.number
      LEFT JOIN publish_feedback AS feedback ON feedback.publish = publishes.number
      LEFT JOIN publish_outcomes AS outcomes ON outcomes.publish = publishes.number
      LEFT JOIN publish_reasons AS reasons
        ON reasons.publish = outcomes.publish AND reasons.platform = outcomes.platform
      WHERE publishes.id = ${id} AND publishes.instance = ${instance}
      ORDER BY outcomes.platform, reasons.devices DESC, reason`;
    const [row] = rows;
    if (row === undefined) {
      await requireInstance(read, instance);
      return undefined;
    }
    const nextAtMs = row.next_at === null ? undefined : Number(row.next_at);
    const sendAtMs = row.send_at === null ? undefined : Number(row.send_at);
    return {
      id,
      state: stateAt(row, nowMs),
      createdAtMs: Number(row.created_at),
      sendAtMs,
      nextAtMs,
      lastAtMs: nextAtMs && lastTaken(readTaken(row.taken)),
      platforms: countsOf(rows),
      live: liveStatusOf(row),
      rule: ruleCauseOf(row),
      delivered: Number(row.delivered ?? 0),
      opened: Number(row.opened ?? 0),
      reasons: rows.flatMap(({ platform, reason, devices }) =>
        platform === null || reason === null ? [] : { platform, reason, devices: Number(devices) },
      ),
    };
  }

  async cancel(publish: PublishAt): Promise<AfterCancel | undefined> {
    const { instance, id, nowMs } = publish;
    const { read } = this.database;
    const [found]: { number: BigInteger }[] = await read`
      SELECT number FROM publishes
      WHERE id = ${id} AND instance = ${instance} AND finished_at IS NULL`;
    const isCancelledNow =
      found !== undefined &&
      (
        await this.database.write((_, later) => {
          const cancelling = { isDone: false };
          later(publishChanges, {
            publish: Number(found.number),
            run: async (of, locked) => {
              cancelling.isDone = !locked.isOver;
              await cancelPublish(of, locked, nowMs);
            },
          });
          return cancelling;
        }, instance)
      ).isDone;
    const status = await this.status(publish);
    return status && isCancelledNow ? { ...status, isCancelledNow } : status;
  }

  async report({ instance, report, nowMs }: ReceivedReport): Promise<KeptReport | undefined> {
    const reported = await this.reported(instance, report);
    if (reported === undefined) return undefined;
    const { publish, device, userId } = reported;
    const isKept = await this.database.write(async (sql, later) => {
      const kept: unknown[] = await sql`
        INSERT INTO publish_reports (publish, device, event, reported_at, device_time,
          app_in_background, has_displayable_content, has_data)
        VALUES (${publish}, ${device}, ${report.event}, ${nowMs},
          ${report.timestampSeconds}, ${flag(report.appInBackground)},
          ${flag(report.hasDisplayableContent)}, ${flag(report.hasData)})
        ON CONFLICT DO NOTHING RETURNING publish`;
      if (kept.length === 0) return false;
      later(countReports, { publish, event: report.event });
      return true;
    }, instance);
    return isKept ? { userId } : undefined;
  }

  /**
   * Returns the subject of a report. `undefined` if the report must not be stored: the publish or the device is
   * unknown, the publish cannot have been sent to the device, or the report is a repetition. Only reads, because
   * anybody may send any number of reports.
   */
  private async reported(
    instance: number,
    { publishId, deviceId, event }: Report,
  ): Promise<Reported | undefined> {
    const { read } = this.database;
    const [publish]: { number: BigInteger }[] = await read`
      SELECT number FROM publishes WHERE id = ${publishId} AND instance = ${instance}`;
    const [device]: { number: BigInteger; user_id: string | null }[] =
      publish === undefined
        ? []
        : await read`
            SELECT number, user_id FROM devices
            WHERE id = ${deviceId} AND instance = ${instance}`;
    if (publish === undefined || device === undefined) {
      await requireInstance(read, instance);
      return undefined;
    }
    const [publishNumber, deviceNumber] = [Number(publish.number), Number(device.number)];
    const page = await audiencePageOf(read, publishNumber, deviceNumber);
    if (page === undefined || page.state === 'cancelled') return undefined;
    const before: unknown[] = await read`
      SELECT 1 FROM publish_reports
      WHERE publish = ${publishNumber} AND device = ${deviceNumber} AND event = ${event}`;
    if (before.length > 0) return undefined;
    return { publish: publishNumber, device: deviceNumber, userId: device.user_id ?? undefined };
  }
}

function countsOf(rows: readonly StatusRow[]): PublishStatus['platforms'] {
  return byPlatform((platform) => {
    const row = rows.find((one) => one.platform === platform);
    return Object.fromEntries(
      countNames.map((name) => [name, Number(row?.[name] ?? 0)]),
    ) as Readonly<Record<CountName, number>>;
  });
}

function publishRow(publish: NewPublish) {
  const { createdAtMs, sendAtMs, target, webhookUrl, body } = publish;
  return {
    id: publish.id,
    instance: publish.instance,
    state: sendAtMs === undefined ? 'planning' : 'scheduled',
    target: target.kind,
    created_at: createdAtMs,
    send_at: sendAtMs ?? null,
    due_at: sendAtMs ?? createdAtMs,
    body,
    body_bytes: countedBytes(body),
    outline: writeOutline(publish),
    tells_end: target.kind === 'users' || webhookUrl !== undefined ? 1 : 0,
  };
}

/** Why a publish is refused. `undefined`: it is accepted, and its idempotency key is taken. */
async function refusalOf(
  sql: TransactionSQL,
  publish: NewPublish,
): Promise<Acceptance | undefined> {
  if (publish.devicesMax > 0) {
    const { accepted } = await readCounts(sql, publish.instance);
    if (accepted > publish.devicesMax) return { result: 'over-plan', devices: accepted };
  }
  return await takeKey(sql, publish);
}

function planRow({ number, instance, due_at }: PlanRow) {
  return { publish: number, instance, planned_to: 0, ended: 0, due_at, ready_at: due_at };
}

/** Takes an idempotency key, or returns the result of the request that has it. */
async function takeKey(
  sql: TransactionSQL,
  { id, instance, createdAtMs, idempotency }: NewPublish,
): Promise<Acceptance | undefined> {
  if (idempotency === undefined) return undefined;
  const { fingerprint, expiresAtMs } = idempotency;
  const key = shortened(idempotency.key);
  const rows: KeyRow[] = await sql`
    SELECT fingerprint, publish_id, expires_at FROM publish_keys
    WHERE instance = ${instance} AND idempotency_key = ${key}`;
  const [row] = rows;
  if (row !== undefined && Number(row.expires_at) > createdAtMs) {
    return row.fingerprint === fingerprint
      ? { result: 'accepted', id: row.publish_id }
      : { result: 'key-taken' };
  }
  if (row !== undefined) {
    await sql`DELETE FROM publish_keys
      WHERE instance = ${instance} AND idempotency_key = ${key}`;
  }
  await sql`INSERT INTO publish_keys (instance, idempotency_key, fingerprint, publish_id, expires_at)
    VALUES (${instance}, ${key}, ${fingerprint}, ${id}, ${expiresAtMs})`;
  return undefined;
}

/** Keys are stored for a day, and there may be millions: long ones are hashed. */
function shortened(key: string): string {
  if (key.length <= PLAIN_KEY_MAX) return key;
  return `sha256 ${createHash('sha256').update(key).digest('base64url')}`;
}

/** Characters of a key that is not hashed. Such keys have no space, and hashed ones have. */
const PLAIN_KEY_MAX = 64;

function flag(value: boolean | undefined): number | null {
  return value === undefined ? null : Number(value);
}

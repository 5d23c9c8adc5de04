import type { TransactionSQL } from 'bun';
import type { WantedJobs } from '../../../push/job-store.ts';
import { type Job, type PageJob, WAITED_FOR_ITS_TURN } from '../../../push/model/delivery.ts';
import type { Platform } from '../../../push/model/device.ts';
import { TOO_MANY_FOR_DEVICE } from '../../../push/model/device-pause.ts';
import type { Database } from '../../database/database.ts';
import { isPostgres, skipLocked } from '../../database/dialect.ts';
import { type BigInteger, isAmong } from '../../database/rows.ts';
import type { Later } from '../../database/write-queue.ts';
import type { LockedPublish } from '../publishes/locked-publish.ts';
import { readDevices } from '../publishes/page-devices.ts';
import { readDues, type StoredDue } from '../publishes/page-dues.ts';
import { readLeftOut } from '../publishes/page-left-out.ts';
import { readPlaces } from '../publishes/page-places.ts';
import { publishChanges } from '../publishes/publish-changes.ts';
import { cancelPage } from './cancel-page.ts';
import { claimedWork, isReady, type PendingClaim, readyInstances } from './due-work.ts';
import { type Claim, claimFairly, claimOfBoth, oneByOne, roundRobin } from './fair-claims.ts';
import { moveIfLate } from './late-pages.ts';

/** A page that this commit has claimed. */
export interface PageRow {
  readonly number: BigInteger;
  readonly publish: BigInteger;
  readonly devices: string;
  /** Places of the devices whose results are recorded. */
  readonly done: string;
  readonly dues: string;
  readonly left_out: string;
}

interface RetryRow {
  readonly publish: BigInteger;
  readonly device: BigInteger;
  readonly platform: Platform;
  readonly attempts: number;
  readonly reason: string;
  readonly paced_ms: BigInteger;
  /** The server whose claim has expired. */
  readonly leased_by: string | null;
  /** PostgreSQL's `ctid`. */
  readonly place: string;
}

/** Due retries of one publish and platform. */
interface RetryGroup {
  readonly publish: number;
  readonly platform: Platform;
  readonly rows: readonly RetryRow[];
}

/** One commit that claims jobs. */
interface Claiming {
  readonly sql: TransactionSQL;
  readonly later: Later;
  readonly wanted: WantedJobs;
  readonly pending: PendingClaim<Job>[];
}

/** How often more is claimed if nothing of a claim is to be delivered. */
const TRIES = 100;

/** Claims pages and due retries. */
export class JobClaims {
  private readonly database: Database;
  private readonly server: string;
  /** The instance that was served last. */
  private lastInstance = 0;
  /** Alternates, so that both kinds get their turn even if only one job is wanted each time. */
  private pagesFirst = false;

  constructor(database: Database, server: string) {
    this.database = database;
    this.server = server;
  }

  async claim(wanted: WantedJobs): Promise<readonly Job[]> {
    for (let tries = 1; ; tries++) {
      const claims = await this.claimOnce(wanted);
      const jobs = claimedWork(claims);
      // All that was claimed is cancelled, or was too late and is due later now.
      if (jobs.length > 0 || claims.length === 0 || tries === TRIES) return jobs;
    }
  }

  private async claimOnce(wanted: WantedJobs): Promise<readonly PendingClaim<Job>[]> {
    const tables = ['publish_pages', 'publish_devices'] as const;
    const ready = await readyInstances(this.database.read, tables, wanted);
    if (ready.size === 0) return [];
    this.pagesFirst = !this.pagesFirst;
    return await this.database.write(async (sql, later) => {
      const claiming: Claiming = { sql, later, wanted, pending: [] };
      const last = await claimFairly({
        owners: roundRobin(ready, this.lastInstance),
        limit: wanted.limit,
        claim: oneByOne((instance, count) => {
          const pages: Claim = (some) => this.claimPages(claiming, instance, some);
          const retries: Claim = (some) => this.claimRetries(claiming, instance, some);
          return this.pagesFirst
            ? claimOfBoth(count, pages, retries)
            : claimOfBoth(count, retries, pages);
        }),
      });
      this.lastInstance = last ?? this.lastInstance;
      return claiming.pending;
    });
  }

  /** The outer conditions repeat the inner ones, because another server may claim a row in between. */
  private async claimPages(
    { sql, later, wanted: { nowMs, untilMs }, pending }: Claiming,
    instance: number,
    count: number,
  ): Promise<number> {
    const rows: PageRow[] = await sql`
      WITH due AS MATERIALIZED (
        SELECT number FROM publish_pages
        WHERE ${isReady(sql, instance, nowMs)}
        ORDER BY instance, ready_at, number LIMIT ${count} ${skipLocked(sql)})
      UPDATE publish_pages SET ready_at = ${untilMs}, leased_by = ${this.server}, held = 0
      WHERE ready_at <= ${nowMs} AND number IN (SELECT number FROM due)
      RETURNING number, publish, devices, done, dues, left_out`;
    rows.sort((a, b) => Number(a.number) - Number(b.number));
    for (const row of rows) {
      const page = Number(row.number);
      const claim: PendingClaim<Job> = { work: undefined };
      pending.push(claim);
      later(publishChanges, {
        publish: Number(row.publish),
        needsBody: true,
        async run(of, locked) {
          if (locked.isOver) return await cancelPage(of, locked, page);
          if (await moveIfLate(of, locked, row, nowMs)) return;
          const left = devicesLeft(row, nowMs);
          const publish = locked.underWay;
          claim.work = { what: 'page', page, publish, ...left, claimedUntilMs: untilMs };
        },
      });
    }
    return rows.length;
  }

  private async claimRetries(
    { sql, later, wanted: { nowMs, untilMs, devicesPerJob }, pending }: Claiming,
    instance: number,
    count: number,
  ): Promise<number> {
    for (let claimed = 0; ; ) {
      const due: RetryRow[] = await sql`
        SELECT publish, device, platform, attempts, reason, paced_ms, leased_by,
          ${placeOf(sql)} AS place
        FROM publish_devices WHERE ${isReady(sql, instance, nowMs)}
        ORDER BY instance, ready_at, publish, device LIMIT ${devicesPerJob} ${skipLocked(sql)}`;
      const groups = grouped(due).slice(0, count - claimed);
      for (const group of groups) {
        await sql`UPDATE publish_devices SET ready_at = ${untilMs}, leased_by = ${this.server}
          WHERE ${areRowsOf(sql, group)}`;
        pending.push(this.confirmLater(later, group, untilMs));
      }
      claimed += groups.length;
      if (claimed === count || due.length < devicesPerJob) return claimed;
    }
  }

  /** Completes the claim once the publish is locked. If the publish is finished or cancelled, cancels the retries. */
  private confirmLater(later: Later, group: RetryGroup, untilMs: number): PendingClaim<Job> {
    const { publish, platform, rows } = group;
    const claim: PendingClaim<Job> = { work: undefined };
    later(publishChanges, {
      publish,
      needsBody: true,
      async run(sql, locked) {
        const retries = rows
          .map(({ device, attempts, reason, paced_ms }) => ({
            device: Number(device),
            attempts,
            pacedMs: Number(paced_ms),
            endedFor: reason === TOO_MANY_FOR_DEVICE ? reason : undefined,
            hasWaited: reason === WAITED_FOR_ITS_TURN,
          }))
          .sort((a, b) => a.device - b.device);
        const devices = retries.map(({ device }) => device);
        if (locked.isOver) return await cancelRetries(sql, locked, group);
        claim.work = {
          what: 'retries',
          platform,
          retries,
          publish: locked.underWay,
          devices,
          claimedUntilMs: untilMs,
        };
      },
    });
    return claim;
  }
}

/** The place of a row in PostgreSQL, which does not change while the row is locked. */
function placeOf(sql: TransactionSQL) {
  return isPostgres(sql) ? sql`ctid::text` : sql`''`;
}

/** By place, because PostgreSQL has no statistics of new rows, and would scan all devices of the publish. */
function areRowsOf(sql: TransactionSQL, { publish, rows }: RetryGroup) {
  if (isPostgres(sql)) {
    const places = rows.map(({ place }) => place);
    return sql`ctid = ANY(${sql.array(places, 'TEXT')}::tid[])`;
  }
  const numbers = rows.map(({ device }) => Number(device));
  return sql`publish = ${publish} AND ${isAmong(sql, 'device', numbers)}`;
}

/** Groups retries by publish and platform; the group with the earliest comes first. */
function grouped(due: readonly RetryRow[]): readonly RetryGroup[] {
  const groups = Map.groupBy(due, ({ publish, platform }) => `${publish} ${platform}`);
  return [...groups.values()].flatMap((rows) => {
    const [first] = rows;
    return first === undefined
      ? []
      : { publish: Number(first.publish), platform: first.platform, rows };
  });
}

/** The devices of a page that are due and whose results are not recorded yet, and when the next ones are due. */
function devicesLeft(
  { devices, done, dues, left_out }: PageRow,
  nowMs: number,
): Pick<PageJob, 'devices' | 'nextDueMs' | 'leftOut' | 'pacedMs'> {
  const all = readDevices(devices);
  if (done === '' && dues === '' && left_out === '') return { devices: all };
  const leftOut = readLeftOut(all, left_out);
  const times = readDues(dues);
  const later = times.filter(({ atMs }) => atMs > nowMs);
  const places = [readPlaces(done), ...later.map((due) => due.places)];
  const left = all.filter((_, place) => !places.some((some) => some.has(place)));
  const nextDueMs = later.length === 0 ? undefined : Math.min(...later.map(({ atMs }) => atMs));
  return { devices: left, nextDueMs, leftOut, pacedMs: pacedMsOf(all, times) };
}

function pacedMsOf(
  devices: readonly number[],
  dues: readonly StoredDue[],
): ReadonlyMap<number, number> | undefined {
  if (dues.every(({ pacedMs = 0 }) => pacedMs === 0)) return undefined;
  return new Map(
    dues.flatMap(({ places, pacedMs = 0 }) =>
      [...places].map((place) => [devices[place] ?? 0, pacedMs] as const),
    ),
  );
}

async function cancelRetries(
  sql: TransactionSQL,
  locked: LockedPublish,
  { publish, platform, rows }: RetryGroup,
): Promise<void> {
  const devices = rows.map(({ device }) => Number(device));
  await sql`UPDATE publish_devices
    SET state = 'cancelled', ready_at = NULL, leased_by = NULL
    WHERE publish = ${publish} AND leased_by IS NOT NULL
      AND ${isAmong(sql, 'device', devices)}`;
  // The others were counted when the publish was cancelled, see `countRetriesCancelled`.
  const uncounted = rows.filter(
    ({ leased_by }) => locked.isCancelledNow || leased_by !== null,
  ).length;
  locked.tally.count(platform, 'retrying', -uncounted);
  locked.tally.count(platform, 'cancelled', uncounted);
}

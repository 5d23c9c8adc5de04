import type { TransactionSQL } from 'bun';
import type { Job } from '../../../push/model/delivery.ts';
import { type Platform, platforms } from '../../../push/model/device.ts';
import type { Database } from '../../database/database.ts';
import type { Dialect } from '../../database/dialect.ts';
import { skipLocked } from '../../database/dialect.ts';
import { isAmong } from '../../database/number-list.ts';
import type { Later } from '../../database/write-queue.ts';
import type { BigInteger } from '../devices/device-rows.ts';
import type { HeldPublish } from '../publishes/locked-publish.ts';
import { readDevices } from '../publishes/page-devices.ts';
import { readPlaces } from '../publishes/page-places.ts';
import { publishChanges } from '../publishes/publish-changes.ts';
import { type Handed, handed, isReady, readyInstances } from './due-work.ts';
import { inTurn, oneByOne, type Take, takeFairly, takeOfBoth } from './fair-claims.ts';

/** What is wanted, and until when it is claimed. */
export interface Wanted {
  readonly nowMs: number;
  readonly untilMs: number;
  readonly most: number;
  readonly devicesMost: number;
  /** Instances that nothing is wanted of. */
  readonly except: readonly number[];
}

interface ClaimedPage {
  readonly number: BigInteger;
  readonly publish: BigInteger;
  readonly devices: string;
  /** Places of devices whose results are kept. */
  readonly done: string;
}

interface ClaimedDevice {
  readonly publish: BigInteger;
  readonly device: BigInteger;
  readonly platform: Platform;
  readonly attempts: number;
  /** Who had claimed it before, and did not finish. */
  readonly leased_by: string | null;
  /** Where its row stands. */
  readonly place: string;
}

/** Devices of one publish and platform. */
interface Group {
  readonly publish: number;
  readonly platform: Platform;
  readonly devices: readonly ClaimedDevice[];
}

/** Hands out pages and due retries. */
export class JobClaims {
  private readonly database: Database;
  private readonly server: string;
  /** The instance that was served last. */
  private turn = 0;
  /** Which of an instance's two kinds is served first: where only one job is wanted each time, each has its turn. */
  private pagesFirst = false;

  constructor(database: Database, server: string) {
    this.database = database;
    this.server = server;
  }

  async claim(wanted: Wanted): Promise<readonly Job[]> {
    const from = ['publish_pages', 'publish_devices'] as const;
    const ready = await readyInstances(this.database.read, from, wanted.nowMs, wanted.except);
    if (ready.size === 0) return [];
    this.pagesFirst = !this.pagesFirst;
    const jobs = await this.database.write(async (sql, later) => {
      const claims: Handed<Job>[] = [];
      const take = async (instance: number, count: number) => {
        const pages: Take = (some) => this.takePages(sql, later, instance, some, wanted, claims);
        const retries: Take = (some) =>
          this.takeRetries(sql, later, instance, some, wanted, claims);
        return this.pagesFirst
          ? await takeOfBoth(count, pages, retries)
          : await takeOfBoth(count, retries, pages);
      };
      this.turn =
        (await takeFairly(inTurn(ready, this.turn), wanted.most, oneByOne(take))) ?? this.turn;
      return claims;
    });
    return handed(jobs);
  }

  /** The outer conditions repeat the inner ones: another process may have claimed a row in between. */
  private async takePages(
    sql: TransactionSQL,
    later: Later,
    instance: number,
    count: number,
    { nowMs, untilMs }: Wanted,
    claims: Handed<Job>[],
  ): Promise<number> {
    const { dialect } = this.database;
    const pages: ClaimedPage[] = await sql`
      WITH due AS MATERIALIZED (
        SELECT number FROM publish_pages
        WHERE ${isReady(sql, instance, nowMs)}
        ORDER BY instance, ready_at, number LIMIT ${count} ${skipLocked(dialect, sql)})
      UPDATE publish_pages SET ready_at = ${untilMs}, leased_by = ${this.server}
      WHERE ready_at <= ${nowMs} AND number IN (SELECT number FROM due)
      RETURNING number, publish, devices, done`;
    pages.sort((a, b) => Number(a.number) - Number(b.number));
    for (const row of pages) {
      const page = Number(row.number);
      const claim: Handed<Job> = { work: undefined };
      claims.push(claim);
      later(publishChanges, {
        dialect,
        publish: Number(row.publish),
        isHandedOn: true,
        async run(of, held) {
          if (held.isOver) return await cancelPage(of, held, page);
          const devices = devicesLeft(row);
          const publish = held.underWay;
          claim.work = { what: 'page', page, job: { publish, devices, leasedUntilMs: untilMs } };
        },
      });
    }
    return pages.length;
  }

  private async takeRetries(
    sql: TransactionSQL,
    later: Later,
    instance: number,
    count: number,
    wanted: Wanted,
    claims: Handed<Job>[],
  ): Promise<number> {
    const { nowMs, untilMs, devicesMost } = wanted;
    const { dialect } = this.database;
    for (let taken = 0; ; ) {
      const due: ClaimedDevice[] = await sql`
        SELECT publish, device, platform, attempts, leased_by, ${placeOf(dialect, sql)} AS place
        FROM publish_devices WHERE ${isReady(sql, instance, nowMs)}
        ORDER BY instance, ready_at, publish, device LIMIT ${devicesMost} ${skipLocked(dialect, sql)}`;
      const groups = grouped(due).slice(0, count - taken);
      for (const group of groups) {
        await sql`UPDATE publish_devices SET ready_at = ${untilMs}, leased_by = ${this.server}
          WHERE ${areRowsOf(dialect, sql, group)}`;
        claims.push(this.handOut(later, group, untilMs));
      }
      taken += groups.length;
      if (taken === count || due.length < devicesMost) return taken;
    }
  }

  private handOut(later: Later, group: Group, untilMs: number): Handed<Job> {
    const { dialect } = this.database;
    const { publish, platform } = group;
    const claim: Handed<Job> = { work: undefined };
    later(publishChanges, {
      dialect,
      publish,
      isHandedOn: true,
      async run(sql, held) {
        const retries = group.devices
          .map(({ device, attempts }) => ({ device: Number(device), attempts }))
          .sort((a, b) => a.device - b.device);
        const devices = retries.map(({ device }) => device);
        if (held.isOver) {
          await sql`UPDATE publish_devices
            SET state = 'cancelled', ready_at = NULL, leased_by = NULL
            WHERE publish = ${publish} AND leased_by IS NOT NULL
              AND ${isAmong(dialect, sql, 'device', devices)}`;
          // The others were counted when the publish was cancelled.
          const left = group.devices.filter(
            ({ leased_by }) => held.isCancelledNow || leased_by !== null,
          ).length;
          held.tally.count(platform, 'retrying', -left);
          held.tally.count(platform, 'cancelled', left);
          return;
        }
        const job = { publish: held.underWay, devices, leasedUntilMs: untilMs };
        claim.work = { what: 'retries', platform, retries, job };
      },
    });
    return claim;
  }
}

/** PostgreSQL tells where a row stands, and it stays there as long as it is held. */
function placeOf(dialect: Dialect, sql: TransactionSQL) {
  return dialect === 'postgres' ? sql`ctid::text` : sql`''`;
}

/**
 * PostgreSQL is told where to look: without statistics of what has just come, it would go through all devices of the
 * publish for some.
 */
function areRowsOf(dialect: Dialect, sql: TransactionSQL, { publish, devices }: Group) {
  if (dialect === 'postgres') {
    const places = devices.map(({ place }) => place);
    return sql`ctid = ANY(${sql.array(places, 'TEXT')}::tid[])`;
  }
  const numbers = devices.map(({ device }) => Number(device));
  return sql`publish = ${publish} AND ${isAmong(dialect, sql, 'device', numbers)}`;
}

/** By publish and platform, in the order in which the first of each is due. */
function grouped(due: readonly ClaimedDevice[]): readonly Group[] {
  const groups = Map.groupBy(due, ({ publish, platform }) => `${publish} ${platform}`);
  return [...groups.values()].flatMap((devices) => {
    const [first] = devices;
    return first === undefined
      ? []
      : { publish: Number(first.publish), platform: first.platform, devices };
  });
}

/** The devices of a page whose results are not kept yet. */
function devicesLeft({ devices, done }: ClaimedPage): readonly number[] {
  const all = readDevices(devices);
  if (done === '') return all;
  const places = readPlaces(done);
  return all.filter((_, place) => !places.has(place));
}

/** A page that was under way when its publish was cancelled, and came back: what is left of it was not delivered. */
async function cancelPage(sql: TransactionSQL, held: HeldPublish, page: number): Promise<void> {
  const [row]: Readonly<Record<Platform, number>>[] = await sql`
    UPDATE publish_pages
    SET state = 'cancelled', ready_at = NULL, leased_by = NULL
    WHERE number = ${page} AND state = 'waiting' RETURNING apns, fcm, web`;
  if (row === undefined) return;
  for (const platform of platforms) held.tally.count(platform, 'cancelled', row[platform]);
}

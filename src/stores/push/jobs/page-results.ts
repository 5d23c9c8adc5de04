import type { TransactionSQL } from 'bun';
import type { DeviceResult } from '../../../push/model/delivery.ts';
import { byPlatform, type Platform, platforms } from '../../../push/model/device.ts';
import { isPostgres, skipLocked } from '../../database/dialect.ts';
import { type BigInteger, isAmong } from '../../database/rows.ts';
import type { LockedAnswer } from '../publishes/locked-publish.ts';
import { readDevices } from '../publishes/page-devices.ts';
import { readPlaces, writePlaces } from '../publishes/page-places.ts';
import type { BatchedChange, LockedItem } from '../publishes/publish-changes.ts';
import { cancelPage } from './cancel-page.ts';
import { countRemoved, type Results, recordResults, recordUsers } from './device-results.ts';

/** Results of a page, or of some of its devices. */
export interface PageResults {
  readonly page: number;
  readonly server: string;
  /** The devices of the job. The results of other devices of the page were recorded before. */
  readonly devices: readonly number[];
  readonly results: Results;
  readonly isToUsers: boolean;
  readonly nowMs: number;
  /** When other devices of the page are due. */
  readonly nextDueMs?: number | undefined;
  readonly answer: LockedAnswer;
}

type Counts = Readonly<Record<Platform, number>>;

/** A settled page, with the number of its devices per platform whose results were not recorded before. */
type FinishedRow = Counts & {
  readonly number: BigInteger;
  /** Empty, like `done`, if no results were recorded before. */
  readonly devices: string;
  readonly done: string;
};

/** Settles pages. Skips those that are settled already, or claimed by another server. */
export const settlePages: BatchedChange<PageResults> = {
  async run(sql, items) {
    for (const { server, nowMs, some } of byServerAndTime(items)) {
      const rows: FinishedRow[] = await sql`
        UPDATE publish_pages
        SET state = 'delivered', done_at = ${nowMs}, ready_at = NULL, leased_by = NULL
        WHERE number IN (${ownPages(sql, pagesOf(some), server)})
        RETURNING number, apns, fcm, web, done,
          CASE done WHEN '' THEN '' ELSE devices END AS devices`;
      const finished = new Map(rows.map((row) => [Number(row.number), row]));
      for (const one of some) {
        const row = finished.get(one.item.page);
        if (row === undefined) continue;
        // The same page may be in the commit twice.
        finished.delete(one.item.page);
        await settlePage(sql, one, row);
      }
    }
  },
};

async function settlePage(
  sql: TransactionSQL,
  { locked, item }: LockedItem<PageResults>,
  row: FinishedRow,
): Promise<void> {
  const { results, isToUsers, nowMs, answer } = item;
  // Some may be recorded already, if the answer to `settlePart` was lost.
  const known = devicesAt(row.devices, readPlaces(row.done));
  const devices = known.size === 0 ? item.devices : item.devices.filter((one) => !known.has(one));
  const given: DeviceResult[] = [];
  const recorded = { apns: 0, fcm: 0, web: 0 };
  for (const device of devices) {
    const result = results.get(device);
    if (result === undefined) continue;
    given.push(result);
    recorded[result.platform]++;
  }
  for (const platform of platforms) {
    countRemoved(locked, platform, row[platform] - recorded[platform]);
  }
  await recordResults(sql, locked, { devices, results, nowMs });
  if (isToUsers) await recordUsers(sql, locked.number, given);
  locked.recorded(answer, nowMs);
}

function devicesAt(devices: string, places: ReadonlySet<number>): ReadonlySet<number> {
  if (places.size === 0) return places;
  return new Set(readDevices(devices).filter((_, place) => places.has(place)));
}

/** A page while some of its results are recorded. */
interface OpenPage {
  /** Places by the number of their device. */
  readonly places: ReadonlyMap<number, number>;
  readonly done: Set<number>;
  /** How many results this commit records. */
  readonly added: Record<Platform, number>;
}

interface OpenRow {
  readonly number: BigInteger;
  readonly devices: string;
  readonly done: string;
}

/** Records results of some devices of pages. Skips pages that another server has claimed. */
export const settlePartOfPages: BatchedChange<PageResults> = {
  async run(sql, items) {
    await recordParts(sql, items);
  },
};

/**
 * Records the results of those devices of pages that are due, and gives the pages back until the next ones are. Devices
 * without a result were deleted, and are counted with the last ones.
 */
export const settleDueOfPages: BatchedChange<PageResults> = {
  async run(sql, items) {
    for (const { locked, item } of await recordParts(sql, items)) {
      const { page, server, nextDueMs } = item;
      if (locked.isOver) {
        await cancelPage(sql, locked, page);
        continue;
      }
      await sql`UPDATE publish_pages
        SET due_at = ${nextDueMs}, ready_at = ${nextDueMs}, leased_by = NULL
        WHERE number = ${page} AND state = 'waiting' AND leased_by = ${server}`;
    }
  },
};

/** Returns the items whose pages this server has claimed. */
async function recordParts(
  sql: TransactionSQL,
  items: readonly LockedItem<PageResults>[],
): Promise<readonly LockedItem<PageResults>[]> {
  const recorded: LockedItem<PageResults>[] = [];
  for (const { server, nowMs, some } of byServerAndTime(items)) {
    const rows: OpenRow[] = await sql`
        SELECT number, devices, done FROM publish_pages
        WHERE number IN (${ownPages(sql, pagesOf(some), server)})`;
    const pages = new Map(rows.map((row) => [Number(row.number), openPage(row)]));
    for (const one of some) {
      const { locked, item } = one;
      const page = pages.get(item.page);
      if (page === undefined) continue;
      recorded.push(one);
      const given = item.devices.flatMap((device) => addNew(page, item.results, device));
      const devices = given.map(({ device }) => device);
      await recordResults(sql, locked, { devices, results: item.results, nowMs });
      if (item.isToUsers) await recordUsers(sql, locked.number, given);
      locked.recordedPart(item.answer);
    }
    await writeProgress(sql, pages, nowMs);
  }
  return recorded;
}

function openPage({ devices, done }: OpenRow): OpenPage {
  return {
    places: new Map(readDevices(devices).map((device, place) => [device, place])),
    done: readPlaces(done),
    added: byPlatform(() => 0),
  };
}

/** The result of a device, unless one is recorded already. */
function addNew({ places, done, added }: OpenPage, results: Results, device: number) {
  const place = places.get(device);
  const result = results.get(device);
  if (place === undefined || result === undefined || done.has(place)) return [];
  done.add(place);
  added[result.platform]++;
  return [result];
}

async function writeProgress(
  sql: TransactionSQL,
  pages: ReadonlyMap<number, OpenPage>,
  nowMs: number,
): Promise<void> {
  const changes = [...pages].flatMap(([number, { done, added }]) =>
    platforms.every((platform) => added[platform] === 0)
      ? []
      : { number, done: writePlaces(done), ...added },
  );
  if (changes.length === 0) return;
  await sql`UPDATE publish_pages
    SET done = change.done, done_at = ${nowMs}, apns = publish_pages.apns - change.apns,
      fcm = publish_pages.fcm - change.fcm, web = publish_pages.web - change.web
    FROM ${asTable(sql, changes)}
    WHERE publish_pages.number = change.number`;
}

/** The table `change` from one parameter, so that the statement's text does not depend on the number of rows. */
function asTable(sql: TransactionSQL, changes: readonly object[]) {
  const json = JSON.stringify(changes);
  return isPostgres(sql)
    ? sql`json_to_recordset(${json}::text::json)
        AS change (number BIGINT, done TEXT, apns INTEGER, fcm INTEGER, web INTEGER)`
    : sql`(SELECT value ->> 'number' AS number, value ->> 'done' AS done, value ->> 'apns' AS apns,
        value ->> 'fcm' AS fcm, value ->> 'web' AS web FROM json_each(${json})) AS change`;
}

/** Pages that one statement can change. */
interface Alike {
  readonly server: string;
  readonly nowMs: number;
  readonly some: readonly LockedItem<PageResults>[];
}

function byServerAndTime(items: readonly LockedItem<PageResults>[]): readonly Alike[] {
  const kinds = Map.groupBy(items, ({ item: { server, nowMs } }) => `${server} ${nowMs}`);
  return [...kinds.values()].flatMap((some) =>
    some.slice(0, 1).map(({ item: { server, nowMs } }) => ({ server, nowMs, some })),
  );
}

function pagesOf(items: readonly LockedItem<PageResults>[]): readonly number[] {
  return items.map(({ item }) => item.page);
}

/** Selects which of the pages this server has claimed, and no other is claiming now. */
function ownPages(sql: TransactionSQL, pages: readonly number[], server: string) {
  return sql`
    SELECT number FROM publish_pages
    WHERE ${isAmong(sql, 'number', pages)} AND state = 'waiting' AND leased_by = ${server}
    ${skipLocked(sql)}`;
}

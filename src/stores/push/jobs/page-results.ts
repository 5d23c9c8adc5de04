import type { TransactionSQL } from 'bun';
import { type Platform, platforms } from '../../../push/model/device.ts';
import type { Dialect } from '../../database/dialect.ts';
import { skipLocked } from '../../database/dialect.ts';
import { isAmong } from '../../database/number-list.ts';
import type { BigInteger } from '../devices/device-rows.ts';
import type { Answer } from '../publishes/locked-publish.ts';
import { readDevices } from '../publishes/page-devices.ts';
import { readPlaces, writePlaces } from '../publishes/page-places.ts';
import type { HeldItem, Together } from '../publishes/publish-changes.ts';
import { countRemoved, keepResults, keepUsers, type Results } from './device-results.ts';

/** What has become of a page, or of some of its devices. */
export interface PageResults {
  readonly page: number;
  readonly server: string;
  /** The devices of the job. Those of the page that are not among them were kept before. */
  readonly devices: readonly number[];
  readonly results: Results;
  readonly isToUsers: boolean;
  readonly nowMs: number;
  readonly answer: Answer;
}

type Counts = Readonly<Record<Platform, number>>;

/** A page that is finished, with how many of its devices were left. */
type FinishedRow = Counts & {
  readonly number: BigInteger;
  /** Empty where nothing was kept before; so is `done`. */
  readonly devices: string;
  readonly done: string;
};

/** Keeps what has become of pages. Pages that are finished already, or that somebody else has claimed, are left alone. */
export const finishPages: Together<PageResults> = {
  async run(dialect, sql, items) {
    for (const { server, nowMs, some } of byServerAndTime(items)) {
      const rows: FinishedRow[] = await sql`
        UPDATE publish_pages
        SET state = 'delivered', done_at = ${nowMs}, ready_at = NULL, leased_by = NULL
        WHERE number IN (${ownPages(dialect, sql, pagesOf(some), server)})
        RETURNING number, apns, fcm, web, done,
          CASE done WHEN '' THEN '' ELSE devices END AS devices`;
      const finished = new Map(rows.map((row) => [Number(row.number), row]));
      for (const one of some) {
        const row = finished.get(one.item.page);
        if (row === undefined) continue;
        // The same may have come twice.
        finished.delete(one.item.page);
        await finishPage(sql, one, row);
      }
    }
  },
};

async function finishPage(
  sql: TransactionSQL,
  { held, item }: HeldItem<PageResults>,
  row: FinishedRow,
): Promise<void> {
  const { results, isToUsers, nowMs, answer } = item;
  // Some of them may be kept already: the answer to the progress that kept them was lost.
  const kept = devicesAt(row.devices, readPlaces(row.done));
  const devices = kept.size === 0 ? item.devices : item.devices.filter((one) => !kept.has(one));
  const given = devices.flatMap((device) => results.get(device) ?? []);
  for (const platform of platforms) {
    const known = given.filter((result) => result.platform === platform).length;
    countRemoved(held, platform, row[platform] - known);
  }
  await keepResults(sql, held, devices, results, nowMs);
  if (isToUsers) await keepUsers(sql, held.number, given);
  held.wasKept(answer, nowMs);
}

function devicesAt(devices: string, places: ReadonlySet<number>): ReadonlySet<number> {
  if (places.size === 0) return places;
  return new Set(readDevices(devices).filter((_, place) => places.has(place)));
}

/** A page as it is known while its progress is kept. */
interface OpenPage {
  /** Places by the number of their device. */
  readonly places: ReadonlyMap<number, number>;
  readonly done: Set<number>;
  /** How many devices were kept just now. */
  readonly kept: Record<Platform, number>;
}

interface OpenRow {
  readonly number: BigInteger;
  readonly devices: string;
  readonly done: string;
}

/** Keeps what has become of some devices of pages. Pages that somebody else has claimed are left alone. */
export const keepPageProgress: Together<PageResults> = {
  async run(dialect, sql, items) {
    for (const { server, nowMs, some } of byServerAndTime(items)) {
      const rows: OpenRow[] = await sql`
        SELECT number, devices, done FROM publish_pages
        WHERE number IN (${ownPages(dialect, sql, pagesOf(some), server)})`;
      const pages = new Map(rows.map((row) => [Number(row.number), openPage(row)]));
      for (const { held, item } of some) {
        const page = pages.get(item.page);
        if (page === undefined) continue;
        const given = item.devices.flatMap((device) => takeFresh(page, item.results, device));
        const devices = given.map(({ device }) => device);
        await keepResults(sql, held, devices, item.results, nowMs);
        if (item.isToUsers) await keepUsers(sql, held.number, given);
        held.wasKeptInPart(item.answer);
      }
      await writeProgress(dialect, sql, pages, nowMs);
    }
  },
};

function openPage({ devices, done }: OpenRow): OpenPage {
  return {
    places: new Map(readDevices(devices).map((device, place) => [device, place])),
    done: readPlaces(done),
    kept: { apns: 0, fcm: 0, web: 0 },
  };
}

/** The result of a device, unless one is kept already. */
function takeFresh({ places, done, kept }: OpenPage, results: Results, device: number) {
  const place = places.get(device);
  const result = results.get(device);
  if (place === undefined || result === undefined || done.has(place)) return [];
  done.add(place);
  kept[result.platform]++;
  return [result];
}

async function writeProgress(
  dialect: Dialect,
  sql: TransactionSQL,
  pages: ReadonlyMap<number, OpenPage>,
  nowMs: number,
): Promise<void> {
  const changes = [...pages].flatMap(([number, { done, kept }]) =>
    kept.apns + kept.fcm + kept.web === 0 ? [] : { number, done: writePlaces(done), ...kept },
  );
  if (changes.length === 0) return;
  await sql`UPDATE publish_pages
    SET done = change.done, done_at = ${nowMs}, apns = publish_pages.apns - change.apns,
      fcm = publish_pages.fcm - change.fcm, web = publish_pages.web - change.web
    FROM ${asTable(dialect, sql, changes)}
    WHERE publish_pages.number = change.number`;
}

/** The table `change`, out of one parameter: the text of the statement stays the same however many rows there are. */
function asTable(dialect: Dialect, sql: TransactionSQL, changes: readonly object[]) {
  const json = JSON.stringify(changes);
  return dialect === 'postgres'
    ? sql`json_to_recordset(${json}::text::json)
        AS change (number BIGINT, done TEXT, apns INTEGER, fcm INTEGER, web INTEGER)`
    : sql`(SELECT value ->> 'number' AS number, value ->> 'done' AS done, value ->> 'apns' AS apns,
        value ->> 'fcm' AS fcm, value ->> 'web' AS web FROM json_each(${json})) AS change`;
}

/** Those that one statement can change. */
interface Alike {
  readonly server: string;
  readonly nowMs: number;
  readonly some: readonly HeldItem<PageResults>[];
}

function byServerAndTime(items: readonly HeldItem<PageResults>[]): readonly Alike[] {
  const kinds = Map.groupBy(items, ({ item: { server, nowMs } }) => `${server} ${nowMs}`);
  return [...kinds.values()].flatMap((some) =>
    some.slice(0, 1).map(({ item: { server, nowMs } }) => ({ server, nowMs, some })),
  );
}

function pagesOf(items: readonly HeldItem<PageResults>[]): readonly number[] {
  return items.map(({ item }) => item.page);
}

/** Those of the pages that a server has claimed, and that nobody is taking over now. */
function ownPages(dialect: Dialect, sql: TransactionSQL, pages: readonly number[], server: string) {
  return sql`
    SELECT number FROM publish_pages
    WHERE ${isAmong(dialect, sql, 'number', pages)} AND state = 'waiting' AND leased_by = ${server}
    ${skipLocked(dialect, sql)}`;
}

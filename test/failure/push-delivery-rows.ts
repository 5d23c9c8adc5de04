import { Database as Sqlite } from 'bun:sqlite';
import type { Platform } from '../../src/push/model/device.ts';
import { openDatabase, sqliteFileOf } from '../../src/stores/database/database.ts';
import { readDevices } from '../../src/stores/push/publishes/page-devices.ts';
import { readPlaces } from '../../src/stores/push/publishes/page-places.ts';
import { StoredInstances } from '../../src/stores/tenants/instance-store.ts';
import { openRows } from './push-rows.ts';

/** A device as it stands in the store. */
export interface StoredRow {
  readonly platform: Platform;
  readonly id: string;
  readonly token: string;
  readonly identity: string;
  readonly bundleId: string | undefined;
  /** In addition to the one that all devices have. */
  readonly interests?: readonly string[];
  /** Whether its gateway has accepted a notification for it before. */
  readonly isTrusted?: boolean;
}

/**
 * Makes the store at `url` if there is none, and puts the devices of an instance into it, each with one interest.
 * Gives their numbers. Thousands of them in one commit: by the API they would take longer than all that is tested.
 */
export async function fillStore(
  url: string,
  instanceId: string,
  interest: string,
  rows: readonly StoredRow[],
): Promise<readonly number[]> {
  let instance: number;
  {
    await using database = await openDatabase(url);
    instance = await new StoredInstances(database).numberOf(instanceId);
  }
  using store = new Sqlite(sqliteFileOf(url));
  const insertDevice = store.query<{ number: number }, (string | number | null)[]>(
    `INSERT INTO devices (instance, id, platform, token_identity, registered_at, seen_at, bundle_id,
      token, metadata, sdk, accepted_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, '{}', '', ?) RETURNING number`,
  );
  const insertInterest = store.query('INSERT INTO device_interests VALUES (?, ?, ?)');
  const nowMs = Date.now();
  const insertAll = store.transaction(() => {
    const numbers = rows.map((row) => {
      const { id, platform, identity, bundleId = null, token, interests = [] } = row;
      const acceptedAtMs = row.isTrusted === true ? nowMs : null;
      const values = [instance, id, platform, identity, nowMs, nowMs, bundleId, token];
      const number = insertDevice.get(...values, acceptedAtMs)?.number ?? 0;
      for (const name of [interest, ...interests]) insertInterest.run(instance, name, number);
      return number;
    });
    store.run('UPDATE instance_numbers SET devices = devices + ? WHERE number = ?', [
      rows.length,
      instance,
    ]);
    return numbers;
  });
  return insertAll();
}

/** Work of a server. */
export interface HeldWork {
  readonly pages: number;
  /** The numbers of the devices of those pages, and of the retries, whose results are not kept. */
  readonly devices: readonly number[];
}

/** Released work may be claimed as soon as it is due, although its last owner stays in the row. */
const CLAIMED = 'ready_at > due_at AND leased_by IS NOT NULL';

/** What a server that has ended had claimed and not released. */
export function heldWork(server: { readonly directory: string }): HeldWork {
  using rows = openRows(server);
  const pages = rows
    .query<PageRow, []>(`SELECT devices, done FROM publish_pages WHERE ${CLAIMED}`)
    .all();
  const retries = rows
    .query<{ device: number }, []>(`SELECT device FROM publish_devices WHERE ${CLAIMED}`)
    .all();
  return {
    pages: pages.length,
    devices: [...pages.flatMap(devicesLeft), ...retries.map(({ device }) => device)],
  };
}

interface PageRow {
  readonly devices: string;
  readonly done: string;
}

function devicesLeft({ devices, done }: PageRow): readonly number[] {
  const places = readPlaces(done);
  return readDevices(devices).filter((_, place) => !places.has(place));
}

import type { Platform } from '../../../src/push/model/device.ts';
import { openDatabase } from '../../../src/stores/database/database.ts';
import { type BigInteger, inPieces } from '../../../src/stores/database/rows.ts';
import { readDevices } from '../../../src/stores/push/publishes/page-devices.ts';
import { readPlaces } from '../../../src/stores/push/publishes/page-places.ts';
import { StoredInstances } from '../../../src/stores/tenants/instance-store.ts';
import { openRows } from './rows.ts';

/** A device as it is in the store. */
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
 * Returns their numbers. Thousands of them in one commit: by the API they would take longer than all that is tested.
 */
export async function fillStore(
  url: string,
  instanceId: string,
  interest: string,
  rows: readonly StoredRow[],
): Promise<readonly number[]> {
  await using database = await openDatabase(url);
  const instance = await new StoredInstances(database).numberOf(instanceId);
  const nowMs = Date.now();
  return await database.write(async (sql) => {
    const numberOf = new Map<string, number>();
    for (const some of inPieces(rows)) {
      const devices = some.map((row) => ({
        instance,
        id: row.id,
        platform: row.platform,
        token_identity: row.identity,
        registered_at: nowMs,
        seen_at: nowMs,
        bundle_id: row.bundleId ?? null,
        token: row.token,
        metadata: '{}',
        sdk: '',
        accepted_at: row.isTrusted === true ? nowMs : null,
      }));
      const made: { id: string; number: BigInteger }[] = await sql`
        INSERT INTO devices ${sql(devices)} RETURNING id, number`;
      for (const { id, number } of made) numberOf.set(id, Number(number));
    }
    const numbers = rows.map(({ id }) => numberOf.get(id) ?? 0);
    const interests = rows.flatMap((row, at) =>
      [interest, ...(row.interests ?? [])].map((name) => ({
        instance,
        interest: name,
        device: numbers[at] ?? 0,
      })),
    );
    for (const some of inPieces(interests)) {
      await sql`INSERT INTO device_interests ${sql(some)}`;
    }
    await sql`UPDATE instance_numbers SET devices = devices + ${rows.length}
      WHERE number = ${instance}`;
    return numbers;
  });
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

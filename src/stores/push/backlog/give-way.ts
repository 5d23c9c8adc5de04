import type { TransactionSQL } from 'bun';
import { GAVE_WAY } from '../../../push/backlog-store.ts';
import { type Platform, platforms } from '../../../push/model/device.ts';
import type { PublishId } from '../../../push/model/publish.ts';
import { skipLocked } from '../../database/dialect.ts';
import { type BigInteger, inPieces, isAmong } from '../../database/rows.ts';
import { readDevices } from '../publishes/page-devices.ts';
import { readPlaces } from '../publishes/page-places.ts';
import type { BatchedChange, LockedItem } from '../publishes/publish-changes.ts';
import { addTallies } from '../publishes/publish-counts.ts';
import { type WaitingDevices, waitingDevices } from './waiting-devices.ts';

/** A publish that is to give way. */
export interface Leaving {
  readonly nowMs: number;
  /** Gets what gave way of all publishes of the call. */
  readonly gaveWay: {
    readonly publishes: PublishId[];
    readonly devices: Record<Platform, number>;
    bytes: number;
  };
}

interface PublishRow {
  readonly number: BigInteger;
  readonly id: PublishId;
  readonly target: 'interests' | 'users';
  readonly body_bytes: BigInteger;
}

/**
 * Makes publishes give way that wait only for failures. Their held pages are cancelled and their retries only counted, of
 * which there may be a million: the rows are cancelled in pieces when they become due, as those of cancelled publishes
 * are. A page or retry that is cancelled has given way if its publish is finished.
 */
export const giveWay: BatchedChange<Leaving> = {
  async run(sql, items) {
    const open = items.filter(({ locked }) => locked.state === 'delivering');
    const lockedOf = new Map(open.map((one) => [one.locked.number, one]));
    // Counts of this commit must be in the rows before they are read.
    await addTallies(
      sql,
      open.map(({ locked }) => locked),
    );
    const waiting = await waitingDevices(sql, [...lockedOf.keys()]);
    const unclaimed = await lockPages(
      sql,
      [...waiting.values()].flatMap(({ pages }) => pages),
    );
    // Another server is claiming a page: the publish may be sent to its devices now.
    const leaving = [...waiting].filter(([, { pages }]) =>
      pages.every((page) => unclaimed.has(page)),
    );
    if (leaving.length === 0) return;
    const rows: PublishRow[] = await sql`
      SELECT number, id, target, body_bytes FROM publishes
      WHERE ${isAmong(
        sql,
        'number',
        leaving.map(([publish]) => publish),
      )}`;
    await failUsers(
      sql,
      leaving.filter(([publish]) => isToUsers(rows, publish)),
    );
    await sql`UPDATE publish_pages SET state = 'cancelled', ready_at = NULL
      WHERE ${isAmong(
        sql,
        'number',
        leaving.flatMap(([, { pages }]) => pages),
      )}`;
    for (const row of rows) {
      const number = Number(row.number);
      const one = lockedOf.get(number);
      const devices = waiting.get(number);
      if (one !== undefined && devices !== undefined) count(one, devices, row);
    }
  },
};

function count({ locked, item }: LockedItem<Leaving>, waiting: WaitingDevices, row: PublishRow) {
  const { gaveWay, nowMs } = item;
  for (const platform of platforms) {
    const retrying = waiting.retrying[platform];
    const devices = retrying + waiting.onPages[platform];
    locked.tally.count(platform, 'retrying', -retrying);
    locked.tally.count(platform, 'expired', devices);
    locked.tally.countReason(platform, GAVE_WAY, devices);
    gaveWay.devices[platform] += devices;
  }
  gaveWay.publishes.push(row.id);
  gaveWay.bytes += Number(row.body_bytes);
  locked.gaveWay = true;
  locked.recorded({ after: 'under-way' }, nowMs);
}

/** Locks pages, except for those that another server is claiming. */
async function lockPages(
  sql: TransactionSQL,
  pages: readonly number[],
): Promise<ReadonlySet<number>> {
  if (pages.length === 0) return new Set();
  const rows: { number: BigInteger }[] = await sql`
    SELECT number FROM publish_pages WHERE ${isAmong(sql, 'number', pages)}
    ORDER BY number ${skipLocked(sql)}`;
  return new Set(rows.map(({ number }) => Number(number)));
}

function isToUsers(rows: readonly PublishRow[], publish: number): boolean {
  return rows.some(({ number, target }) => Number(number) === publish && target === 'users');
}

/** Records the users of waiting devices as not reached, unless another device of theirs was. */
async function failUsers(
  sql: TransactionSQL,
  publishes: readonly (readonly [number, WaitingDevices])[],
): Promise<void> {
  if (publishes.length === 0) return;
  const numbers = publishes.map(([publish]) => publish);
  await sql`
    INSERT INTO publish_users (publish, user_id, reached)
    SELECT DISTINCT publish_devices.publish, devices.user_id, 0 FROM publish_devices
    JOIN devices ON devices.number = publish_devices.device
    WHERE ${isAmong(sql, 'publish', numbers)}
      AND publish_devices.state = 'retrying' AND devices.user_id IS NOT NULL
    ON CONFLICT DO NOTHING`;
  const onPages = await devicesOnPages(
    sql,
    publishes.flatMap(([, { pages }]) => pages),
  );
  const devices = [...new Set(onPages.map(({ device }) => device))];
  for (const some of inPieces(devices)) {
    const users: { number: BigInteger; user_id: string }[] = await sql`
      SELECT number, user_id FROM devices
      WHERE ${isAmong(sql, 'number', some)} AND user_id IS NOT NULL`;
    const userOf = new Map(users.map(({ number, user_id }) => [Number(number), user_id]));
    const failed = onPages.flatMap(({ publish, device }) => {
      const user_id = userOf.get(device);
      return user_id === undefined ? [] : [{ publish, user_id, reached: 0 }];
    });
    for (const rows of inPieces(failed)) {
      await sql`INSERT INTO publish_users ${sql(rows)} ON CONFLICT DO NOTHING`;
    }
  }
}

/** The devices of pages whose results are not recorded. */
async function devicesOnPages(
  sql: TransactionSQL,
  pages: readonly number[],
): Promise<readonly { readonly publish: number; readonly device: number }[]> {
  if (pages.length === 0) return [];
  const rows: { publish: BigInteger; devices: string; done: string }[] = await sql`
    SELECT publish, devices, done FROM publish_pages WHERE ${isAmong(sql, 'number', pages)}`;
  return rows.flatMap(({ publish, devices, done }) => {
    const places = readPlaces(done);
    return readDevices(devices)
      .filter((_, place) => !places.has(place))
      .map((device) => ({ publish: Number(publish), device }));
  });
}

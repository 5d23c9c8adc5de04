import type { PublishId } from '../../../push/model/publish.ts';
import type { Database } from '../../database/database.ts';
import { type BigInteger, isAmong } from '../../database/rows.ts';
import { readDevices } from './page-devices.ts';

export interface PublishesQuery {
  readonly instance: number;
  /** The numbers of devices. Each costs one look at each publish. */
  readonly devices: readonly number[];
  /** The place to continue from; `undefined`: from the newest publish. */
  readonly before: number | undefined;
  readonly limit: number;
}

/** A publish that is for a device. */
export interface PublishForDevice {
  readonly id: PublishId;
  readonly createdAtMs: number;
  readonly device: number;
}

export interface FoundPublishes {
  /** The newest first. */
  readonly found: readonly PublishForDevice[];
  /** The number of publishes of the instance that were searched. */
  readonly looked: number;
  /** The place to continue from; `undefined`: there are no older publishes. */
  readonly next: number | undefined;
}

interface PublishRow {
  readonly number: BigInteger;
  readonly id: PublishId;
  readonly created_at: BigInteger;
}

interface PageRow {
  readonly publish: BigInteger;
  readonly devices: string;
}

/** Publishes read without yielding to the event loop. A page names up to 1,000 devices. */
const PIECE_PUBLISHES = 25;

/** The limit of publishes that one call examines; the caller continues from `next`. */
const CALL_PUBLISHES = 200;

/** Finds the newest publishes of an instance that are for devices, as far as their audience was read. */
export async function findPublishesOf(
  { read }: Pick<Database, 'read'>,
  { instance, devices, before, limit }: PublishesQuery,
): Promise<FoundPublishes> {
  const found: PublishForDevice[] = [];
  let looked = 0;
  let next = before;
  while (looked < CALL_PUBLISHES) {
    const publishes: PublishRow[] = await read`
      SELECT number, id, created_at FROM publishes
      WHERE instance = ${instance} ${next === undefined ? read`` : read`AND number < ${next}`}
      ORDER BY instance DESC, number DESC LIMIT ${PIECE_PUBLISHES}`;
    const numbers = publishes.map(({ number }) => Number(number));
    const pages = await Promise.all(
      devices.map(async (device) => ({
        device,
        publishes: await publishesFor({ read }, device, numbers),
      })),
    );
    for (const publish of publishes) {
      const { id, created_at } = publish;
      looked++;
      next = Number(publish.number);
      for (const { device, publishes: named } of pages) {
        if (named.has(next)) found.push({ id, createdAtMs: Number(created_at), device });
      }
      // All devices of a publish, so that none is missing after `next`.
      if (found.length >= limit) return { found, looked, next };
    }
    if (publishes.length < PIECE_PUBLISHES) return { found, looked, next: undefined };
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { found, looked, next };
}

/** Reads which of the publishes have the device on one of their pages. */
async function publishesFor(
  { read }: Pick<Database, 'read'>,
  device: number,
  publishes: readonly number[],
): Promise<ReadonlySet<number>> {
  if (publishes.length === 0) return new Set();
  // Pages do not overlap, so only the first page that ends at or after the device can contain it.
  const rows: PageRow[] = await read`
    SELECT publish, devices FROM publish_pages
    WHERE first_device <= ${device} AND number IN (
      SELECT (
        SELECT pages.number FROM publish_pages AS pages
        WHERE pages.publish = publishes.number AND pages.last_device >= ${device}
        ORDER BY pages.last_device LIMIT 1)
      FROM publishes WHERE ${isAmong(read, 'number', publishes)})`;
  return new Set(
    rows
      .filter(({ devices }) => readDevices(devices).includes(device))
      .map(({ publish }) => Number(publish)),
  );
}

import type { SQL } from 'bun';
import type { BigInteger } from '../../database/rows.ts';
import { readDevices } from './page-devices.ts';
import { readDues, type StoredDue } from './page-dues.ts';
import { readPlaces } from './page-places.ts';

/** The state of a page for one of its devices. */
export interface StoredPageState {
  readonly state: 'waiting' | 'delivered' | 'cancelled';
  readonly done_at: BigInteger | null;
  /** When the device is due, if that is later than the publish. */
  readonly due: StoredDue | undefined;
}

interface PageRow extends Omit<StoredPageState, 'due'> {
  readonly first_device: BigInteger;
  readonly devices: string;
  readonly done: string;
  readonly dues: string;
}

/** The page of a device; `undefined`: it is not in the audience that was read so far. Pages do not overlap. */
export async function audiencePageOf(
  sql: SQL,
  publish: BigInteger,
  device: number,
): Promise<StoredPageState | undefined> {
  const [row]: PageRow[] = await sql`
    SELECT state, first_device, done_at, devices, done, dues FROM publish_pages
    WHERE publish = ${publish} AND last_device >= ${device} ORDER BY last_device LIMIT 1`;
  if (row === undefined || Number(row.first_device) > device) return undefined;
  const place = readDevices(row.devices).indexOf(device);
  if (place === -1) return undefined;
  // Delivered for this device once its result is recorded, even if other devices of the page wait.
  const state = readPlaces(row.done).has(place) ? 'delivered' : row.state;
  const due = readDues(row.dues).find(({ places }) => places.has(place));
  return { state, done_at: row.done_at, due };
}

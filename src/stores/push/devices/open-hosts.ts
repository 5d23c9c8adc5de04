import type { DeviceToken } from '../../../push/model/device.ts';
import { DEVICES_PER_OPEN_HOST } from '../../../push/model/instance.ts';
import { exclusively } from '../../database/dialect.ts';
import type { BigInteger } from '../../database/rows.ts';
import type { DeviceChange } from './device-rows.ts';

/** Whether an instance has as many devices as it may have at a push service that the operator has not named. */
export async function isHostFull(
  { sql, instance }: DeviceChange,
  { openHost }: Pick<DeviceToken, 'openHost'>,
): Promise<boolean> {
  if (openHost === undefined) return false;
  await exclusively(sql, `devices of ${instance} at ${openHost}`);
  const [row]: { devices: BigInteger }[] = await sql`
    SELECT COUNT(*) AS devices FROM devices WHERE instance = ${instance} AND open_host = ${openHost}`;
  return Number(row?.devices) >= DEVICES_PER_OPEN_HOST;
}

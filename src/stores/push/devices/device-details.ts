import { endpointOrigin } from '../../../push/delivering/routes/endpoint-origin.ts';
import type { DeviceKey } from '../../../push/device-store.ts';
import type { DeviceStory } from '../../../push/model/delivery.ts';
import type { DeviceId, Platform } from '../../../push/model/device.ts';
import { bareToken } from '../../../push/model/token-kind.ts';
import type { Database } from '../../database/database.ts';
import type { BigInteger } from '../../database/rows.ts';
import { columns, type ListedDevice, type ListedRow, listedDevice } from './device-list.ts';

/** Characters of a token that are shown. */
const TOKEN_SHOWN = 8;

/** A registered device as shown to operators. */
export interface RegisteredDevice extends ListedDevice {
  /** The app, on Apple's platforms. */
  readonly bundleId: string | undefined;
  /** The device with the ordinary token of the app, if this one is deleted with it and it is registered. */
  readonly parent: DeviceId | undefined;
  /** The first characters of its token, and how many it has. For browsers `begins` is empty. */
  readonly token: { readonly begins: string; readonly length: number };
  /** The push service of a browser. */
  readonly pushService: string | undefined;
}

/** What is known of a device: while it is registered, and for 30 days after it was removed because of a dead token. */
export type KnownDevice = {
  /** The place of the device among all devices. */
  readonly number: number;
  readonly platform: Platform;
  readonly registeredAtMs: number;
} & (
  | { readonly registered: RegisteredDevice; readonly removed: undefined }
  | { readonly registered: undefined; readonly removed: NonNullable<DeviceStory['removed']> }
);

interface RegisteredRow extends ListedRow {
  readonly token: string;
  readonly bundle_id: string | null;
  readonly parent: DeviceId | null;
}

interface RemovedRow {
  readonly number: BigInteger;
  readonly id: DeviceId;
  readonly platform: Platform;
  readonly registered_at: BigInteger;
  readonly removed_at: BigInteger;
  readonly reason: string;
  readonly words: string;
}

/** Reads a device; `undefined`: there is no device with this id. */
export async function readKnownDevice(
  { read }: Pick<Database, 'read'>,
  { instance, id }: DeviceKey,
): Promise<KnownDevice | undefined> {
  const [row]: RegisteredRow[] = await read`
    SELECT ${columns(read)}, token, bundle_id, (
      SELECT id FROM devices AS parents
      WHERE parents.instance = devices.instance AND parents.token_identity = devices.parent) AS parent
    FROM devices WHERE id = ${id} AND instance = ${instance}`;
  if (row !== undefined) {
    const registered = registeredDevice(row);
    const { platform, registeredAtMs } = registered;
    return { number: Number(row.number), platform, registeredAtMs, registered, removed: undefined };
  }
  const [gone]: RemovedRow[] = await read`
    SELECT number, id, platform, registered_at, removed_at, reason, words FROM device_tombstones
    WHERE instance = ${instance} AND id = ${id}`;
  if (gone === undefined) return undefined;
  const { number, platform, registered_at, removed_at, reason, words } = gone;
  return {
    number: Number(number),
    platform,
    registeredAtMs: Number(registered_at),
    registered: undefined,
    removed: { atMs: Number(removed_at), reason, words },
  };
}

function registeredDevice(row: RegisteredRow): RegisteredDevice {
  const { bundle_id, parent, platform } = row;
  const token = row.kind === null ? row.token : bareToken(row.token);
  // Half of a token that is not much longer would be too much.
  const shown = Math.min(TOKEN_SHOWN, token.length >> 1);
  return {
    ...listedDevice(row),
    bundleId: bundle_id ?? undefined,
    parent: parent ?? undefined,
    token: { begins: platform === 'web' ? '' : token.slice(0, shown), length: token.length },
    pushService: platform === 'web' ? endpointOrigin(token) : undefined,
  };
}

import type { TransactionSQL } from 'bun';
import { DEVICE_REMOVED, type DeviceResult } from '../../../push/model/delivery.ts';
import { type Platform, platforms } from '../../../push/model/device.ts';
import { inPieces } from '../../database/rows.ts';
import type { LockedPublish } from '../publishes/locked-publish.ts';
import type { CountName } from '../publishes/publish-counts.ts';
import { spacedOut } from './paused-devices.ts';

/** Results by the number of their device. */
export type Results = ReadonlyMap<number, DeviceResult>;

/** What is stored of a device that was not accepted at its first attempt. */
type Trouble = Pick<
  Exclude<DeviceResult, { readonly what: 'accepted' }>,
  'device' | 'attempts' | 'reason' | 'words'
> & {
  /** `undefined`: it was deleted before delivery. */
  readonly platform: Platform | undefined;
  readonly state: Exclude<CountName, 'planned' | 'accepted'>;
  /** When it is retried, if it is. */
  readonly dueAtMs: number | undefined;
  readonly pacedMs?: number | undefined;
};

/** Counts devices that were deleted between planning and delivering. */
export function countRemoved(locked: LockedPublish, platform: Platform, devices: number): void {
  locked.tally.count(platform, 'failed', devices);
  locked.tally.countReason(platform, DEVICE_REMOVED, devices);
}

/**
 * Counts the result of each device, and stores a row for each that was not accepted. Devices without a result were
 * deleted; the caller counts those.
 */
export async function recordResults(
  sql: TransactionSQL,
  locked: LockedPublish,
  {
    devices,
    results,
    nowMs,
  }: { readonly devices: readonly number[]; readonly results: Results; readonly nowMs: number },
): Promise<void> {
  const troubles: Trouble[] = [];
  const accepted = { apns: 0, fcm: 0, web: 0 };
  for (const device of devices) {
    const result = results.get(device);
    if (result?.what === 'accepted') {
      accepted[result.platform]++;
      continue;
    }
    const trouble = result === undefined ? removed(device) : troubleOf(result, locked);
    troubles.push(trouble);
    if (result === undefined) continue;
    locked.tally.count(result.platform, trouble.state, 1);
    if (result.what !== 'retry') locked.tally.countReason(result.platform, result.reason, 1);
  }
  for (const platform of platforms) locked.tally.count(platform, 'accepted', accepted[platform]);
  const dueAtMs = await spacedOut(sql, { publish: locked.number, retries: troubles, nowMs });
  for (const some of inPieces(troubles)) {
    const rows = some.map((trouble) =>
      troubleRow(
        locked,
        { ...trouble, dueAtMs: dueAtMs.get(trouble.device) ?? trouble.dueAtMs },
        nowMs,
      ),
    );
    await sql`INSERT INTO publish_devices ${sql(rows)}
      ON CONFLICT (publish, device) DO UPDATE SET
        state = excluded.state, attempts = excluded.attempts, changed_at = excluded.changed_at,
        due_at = excluded.due_at, ready_at = excluded.ready_at, leased_by = excluded.leased_by,
        reason = excluded.reason, words = excluded.words, paced_ms = excluded.paced_ms`;
  }
}

function removed(device: number): Trouble {
  return {
    device,
    platform: undefined,
    state: 'failed',
    attempts: 0,
    reason: DEVICE_REMOVED,
    words: '',
    dueAtMs: undefined,
  };
}

function troubleOf(
  result: Exclude<DeviceResult, { readonly what: 'accepted' }>,
  { state }: LockedPublish,
): Trouble {
  const { device, platform, attempts, reason, words } = result;
  const common = { device, platform, attempts, reason, words };
  if (result.what !== 'retry') return { ...common, state: result.what, dueAtMs: undefined };
  return state === 'cancelled'
    ? { ...common, state: 'cancelled', dueAtMs: undefined }
    : { ...common, state: 'retrying', dueAtMs: result.dueAtMs, pacedMs: result.pacedMs };
}

function troubleRow(locked: LockedPublish, trouble: Trouble, nowMs: number) {
  const { platform, dueAtMs, pacedMs = 0, ...rest } = trouble;
  return {
    ...rest,
    publish: locked.number,
    instance: locked.instance,
    platform: platform ?? null,
    changed_at: nowMs,
    due_at: dueAtMs ?? nowMs,
    ready_at: dueAtMs ?? null,
    leased_by: null,
    paced_ms: pacedMs,
  };
}

/** Records which users a publish has reached: those with at least one accepted device. */
export async function recordUsers(
  sql: TransactionSQL,
  publish: number,
  results: Iterable<DeviceResult>,
): Promise<void> {
  const reached = new Map<string, number>();
  for (const result of results) {
    // A user with dead tokens only has no devices, and one with retries may still be reached.
    if (result.what === 'retry' || result.what === 'pruned') continue;
    if (result.userId === undefined) continue;
    if (result.what === 'accepted') reached.set(result.userId, 1);
    else if (!reached.has(result.userId)) reached.set(result.userId, 0);
  }
  const rows = [...reached].map(([user_id, isReached]) => ({
    publish,
    user_id,
    reached: isReached,
  }));
  for (const some of inPieces(rows)) {
    await sql`INSERT INTO publish_users ${sql(some)}
      ON CONFLICT (publish, user_id) DO UPDATE SET reached = excluded.reached
      WHERE publish_users.reached < excluded.reached`;
  }
}

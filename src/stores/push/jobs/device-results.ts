import type { TransactionSQL } from 'bun';
import { DEVICE_REMOVED, type DeviceResult } from '../../../push/model/delivery.ts';
import type { Platform } from '../../../push/model/device.ts';
import { inPieces } from '../devices/device-rows.ts';
import type { HeldPublish } from '../publishes/locked-publish.ts';
import type { CountName } from '../publishes/publish-counts.ts';

/** Results by the number of their device. */
export type Results = ReadonlyMap<number, DeviceResult>;

/** What is kept of a device that was not accepted at its first attempt. */
type Trouble = Pick<
  Exclude<DeviceResult, { readonly what: 'accepted' }>,
  'device' | 'attempts' | 'reason' | 'words'
> & {
  /** `undefined`: it was gone before anybody looked. */
  readonly platform: Platform | undefined;
  readonly state: Exclude<CountName, 'planned' | 'accepted'>;
  /** When it is tried again, where it is. */
  readonly dueAtMs: number | undefined;
};

/** Counts devices that were deleted between planning and delivering. */
export function countRemoved(held: HeldPublish, platform: Platform, devices: number): void {
  held.tally.count(platform, 'failed', devices);
  held.tally.countReason(platform, DEVICE_REMOVED, devices);
}

/**
 * Counts what became of each device, and keeps a row of each that was not accepted. Devices without a result were
 * deleted; the caller counts those.
 */
export async function keepResults(
  sql: TransactionSQL,
  held: HeldPublish,
  devices: readonly number[],
  results: Results,
  nowMs: number,
): Promise<void> {
  const troubles: Trouble[] = [];
  for (const device of devices) {
    const result = results.get(device);
    if (result?.what === 'accepted') {
      held.tally.count(result.platform, 'accepted', 1);
      continue;
    }
    const trouble = result === undefined ? removed(device) : troubleOf(result, held);
    troubles.push(trouble);
    if (result === undefined) continue;
    held.tally.count(result.platform, trouble.state, 1);
    if (result.what !== 'retry') held.tally.countReason(result.platform, result.reason, 1);
  }
  for (const some of inPieces(troubles)) {
    const rows = some.map((trouble) => troubleRow(held, trouble, nowMs));
    await sql`INSERT INTO publish_devices ${sql(rows)}
      ON CONFLICT (publish, device) DO UPDATE SET
        state = excluded.state, attempts = excluded.attempts, changed_at = excluded.changed_at,
        due_at = excluded.due_at, ready_at = excluded.ready_at, leased_by = excluded.leased_by,
        reason = excluded.reason, words = excluded.words`;
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
  { state }: HeldPublish,
): Trouble {
  const { device, platform, attempts, reason, words } = result;
  const kept = { device, platform, attempts, reason, words };
  if (result.what !== 'retry') return { ...kept, state: result.what, dueAtMs: undefined };
  return state === 'cancelled'
    ? { ...kept, state: 'cancelled', dueAtMs: undefined }
    : { ...kept, state: 'retrying', dueAtMs: result.dueAtMs };
}

function troubleRow(held: HeldPublish, trouble: Trouble, nowMs: number) {
  const { platform, dueAtMs, ...rest } = trouble;
  return {
    ...rest,
    publish: held.number,
    instance: held.instance,
    platform: platform ?? null,
    changed_at: nowMs,
    due_at: dueAtMs ?? nowMs,
    ready_at: dueAtMs ?? null,
    leased_by: null,
  };
}

/** Keeps whom a publish to users has reached: one device that was accepted is enough, whatever became of the others. */
export async function keepUsers(
  sql: TransactionSQL,
  publish: number,
  results: Iterable<DeviceResult>,
): Promise<void> {
  const reached = new Map<string, number>();
  for (const result of results) {
    // A user whose tokens reach nobody has no devices, and one who waits may still be reached.
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

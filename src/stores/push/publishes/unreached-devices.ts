import { GAVE_WAY } from '../../../push/backlog-store.ts';
import type { DeviceId, Platform } from '../../../push/model/device.ts';
import type { PublishId, PublishState } from '../../../push/model/publish.ts';
import type { Database } from '../../database/database.ts';
import { type BigInteger, isAmong } from '../../database/rows.ts';
import { requireInstance } from '../../tenants/instance-presence.ts';

/** A device that a publish is for, and whose gateway has not accepted it, or not yet. */
export interface UnreachedDevice {
  /** `undefined`: its app deleted it, or it was removed more than 30 days ago. */
  readonly id: DeviceId | undefined;
  readonly platform: Platform | undefined;
  readonly userId: string | undefined;
  readonly state: 'retrying' | 'failed' | 'expired' | 'pruned' | 'cancelled';
  readonly attempts: number;
  readonly changedAtMs: number;
  /** When it is tried again, if it is. */
  readonly nextAttemptAtMs: number | undefined;
  readonly reason: string;
  /** The gateway's own text. */
  readonly words: string;
}

export interface UnreachedQuery {
  readonly instance: number;
  readonly publish: PublishId;
  readonly platform?: Platform | undefined;
  readonly reason?: string | undefined;
  readonly state?: UnreachedDevice['state'] | undefined;
  /** The place to continue from; 0: from the first. */
  readonly after: number;
  readonly limit: number;
}

interface TroubleRow {
  readonly device: BigInteger;
  readonly platform: Platform | null;
  readonly state: UnreachedDevice['state'] | 'accepted';
  readonly attempts: number;
  readonly changed_at: BigInteger;
  readonly due_at: BigInteger;
  readonly leased_by: string | null;
  readonly reason: string;
  readonly words: string;
}

interface Named {
  readonly id: DeviceId;
  readonly platform: Platform;
  readonly userId: string | undefined;
}

/** Rows read without yielding to the event loop. */
const PIECE_ROWS = 500;

/** Rows that one call reads; the caller continues from `next`. */
const CALL_ROWS = 20_000;

/**
 * Lists devices that a publish has not reached, in the order in which they registered. There may be more even if it
 * returns fewer than `limit`: `next` is the place to continue from, `undefined` at the end. `undefined`: the instance has
 * no such publish.
 */
export async function listUnreached(
  { read }: Pick<Database, 'read'>,
  query: UnreachedQuery,
): Promise<
  { readonly devices: readonly UnreachedDevice[]; readonly next: number | undefined } | undefined
> {
  const { instance, publish: id, limit } = query;
  const [publish]: { number: BigInteger; state: PublishState }[] = await read`
    SELECT number, state FROM publishes WHERE id = ${id} AND instance = ${instance}`;
  if (publish === undefined) {
    await requireInstance(read, instance);
    return undefined;
  }
  const found: TroubleRow[] = [];
  let next: number | undefined = query.after;
  for (let rows = 0; rows < CALL_ROWS && found.length < limit; rows += PIECE_ROWS) {
    const piece: TroubleRow[] = await read`
      SELECT device, platform, state, attempts, changed_at, due_at, leased_by, reason, words
      FROM publish_devices WHERE publish = ${publish.number} AND device > ${next}
      ORDER BY device LIMIT ${PIECE_ROWS}`;
    const fitting = piece
      .map((row) => ended(row, publish.state))
      .filter((row) => fits(row, publish.state, query));
    const last = fitting[limit - found.length];
    found.push(...fitting.slice(0, limit - found.length));
    if (last !== undefined) {
      next = Number(found.at(-1)?.device);
    } else if (piece.length < PIECE_ROWS) {
      next = undefined;
      break;
    } else next = Number(piece.at(-1)?.device);
    // SQLite answers within one turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
  }
  const numbers = found.map(({ device }) => Number(device));
  const names = await namesOf({ read }, instance, numbers);
  return {
    devices: found.map((row) => shown(row, publish.state, names.get(Number(row.device)))),
    next,
  };
}

/**
 * The row as it will be once it changes, which is when it becomes due. In a finished publish, a retry that waits has given
 * way.
 */
function ended(row: TroubleRow, publish: PublishState): TroubleRow {
  const waits = row.state === 'retrying' || row.state === 'cancelled';
  if (publish !== 'finished' || !waits) return row;
  return { ...row, state: 'expired', reason: GAVE_WAY, words: '' };
}

function fits(row: TroubleRow, publish: PublishState, wanted: UnreachedQuery): boolean {
  const { platform, reason, state } = wanted;
  const stateNow = stateOf(row, publish);
  if (stateNow === undefined || (state !== undefined && state !== stateNow)) return false;
  if (reason !== undefined && row.reason !== reason) return false;
  // The platform of a device that was deleted before delivery is not known.
  return platform === undefined || row.platform === null || row.platform === platform;
}

/** `undefined`: accepted at a later attempt. */
function stateOf(
  { state, leased_by }: TroubleRow,
  publish: PublishState,
): UnreachedDevice['state'] | undefined {
  if (state === 'accepted') return undefined;
  // The row of a retry that was not claimed when its publish was cancelled changes only when it becomes due.
  return state === 'retrying' && publish === 'cancelled' && leased_by === null
    ? 'cancelled'
    : state;
}

function shown(row: TroubleRow, publish: PublishState, named: Named | undefined): UnreachedDevice {
  const state = stateOf(row, publish) ?? 'retrying';
  return {
    id: named?.id,
    platform: row.platform ?? named?.platform,
    userId: named?.userId,
    state,
    attempts: row.attempts,
    changedAtMs: Number(row.changed_at),
    nextAttemptAtMs: state === 'retrying' ? Number(row.due_at) : undefined,
    reason: row.reason,
    words: row.words,
  };
}

/** The devices with these numbers, registered or removed. */
async function namesOf(
  { read }: Pick<Database, 'read'>,
  instance: number,
  numbers: readonly number[],
): Promise<ReadonlyMap<number, Named>> {
  if (numbers.length === 0) return new Map();
  // The pluses keep the database from using the indexes by instance, with all its devices.
  const rows: {
    number: BigInteger;
    id: DeviceId;
    platform: Platform;
    user_id: string | null;
  }[] = await read`
    SELECT number, id, platform, user_id FROM devices
    WHERE ${isAmong(read, 'number', numbers)} AND +instance = ${instance}
    UNION ALL
    SELECT number, id, platform, NULL FROM device_tombstones
    WHERE ${isAmong(read, 'number', numbers)} AND +instance = ${instance}`;
  return new Map(
    rows.map(({ number, id, platform, user_id }) => [
      Number(number),
      { id, platform, userId: user_id ?? undefined },
    ]),
  );
}

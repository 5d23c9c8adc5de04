import type { SQL } from 'bun';
import type { DeviceId, DeviceMetadata, Platform } from '../../../push/model/device.ts';
import type { DevicePause } from '../../../push/model/device-pause.ts';
import type { Preferences } from '../../../push/model/preferences.ts';
import type { DeviceKind } from '../../../push/model/token-kind.ts';
import { monotonicTimers } from '../../../runtime/system-timers.ts';
import { pause } from '../../../runtime/time/pause.ts';
import type { Database } from '../../database/database.ts';
import { type BigInteger, isAmong } from '../../database/rows.ts';
import { StoredAudience } from './audience-source.ts';
import { type PauseColumns, pauseOf } from './device-pauses.ts';
import { afterRemoval, type DeletedRow } from './device-rows.ts';
import { ownPreferences, type PreferenceColumns, preferencesOf } from './preferences.ts';

/** Selects devices. All conditions must hold. */
export interface DeviceFilter {
  readonly platform: Platform | undefined;
  /** Only devices whose token no gateway has ever accepted. */
  readonly neverAccepted: boolean;
  readonly registeredBeforeMs: number | undefined;
  /** Only devices that have not registered, or changed anything but interests, since then. */
  readonly seenBeforeMs: number | undefined;
  /** Only devices of this user. */
  readonly userId?: string | undefined;
  /** Only devices that are subscribed to this interest. */
  readonly interest?: string | undefined;
  /** Only devices whose id begins with this. Long enough for few devices of all instances to have it. */
  readonly idPrefix?: string | undefined;
  /** Only further tokens of this kind. */
  readonly kind?: DeviceKind | undefined;
  /** Only devices of this import that no SDK has registered since. */
  readonly origin?: string | undefined;
  /** Only devices whose pause lasts longer than until then. */
  readonly pausedAtMs?: number | undefined;
}

/** A device as shown to operators, without its token, which is a secret. */
export interface ListedDevice {
  /** The place of the device in the list. */
  readonly number: number;
  readonly id: DeviceId;
  readonly platform: Platform;
  /** What its token is for; `undefined`: it is the ordinary one of its app. */
  readonly kind: DeviceKind | undefined;
  /** The import that it is of; `undefined`: an SDK has registered it. */
  readonly origin: string | undefined;
  readonly userId: string | undefined;
  readonly registeredAtMs: number;
  readonly seenAtMs: number;
  /** Whether a gateway has accepted its token. */
  readonly isAccepted: boolean;
  /** When it first did; also `undefined` if that was before this was recorded. */
  readonly acceptedAtMs: number | undefined;
  readonly metadata: DeviceMetadata;
  /** The SDK and browser, as reported at registration. */
  readonly client: string;
  /** The last pause of the device in the store, which may be over. */
  readonly pause: DevicePause | undefined;
  /** Its own preferences. Those of its user may hold, too. */
  readonly preferences: Preferences;
}

export interface ListedRow extends PauseColumns, PreferenceColumns {
  readonly number: BigInteger;
  readonly id: DeviceId;
  readonly platform: Platform;
  readonly kind: DeviceKind | null;
  readonly origin: string | null;
  readonly user_id: string | null;
  readonly registered_at: BigInteger;
  readonly seen_at: BigInteger;
  readonly accepted_at: BigInteger | null;
  readonly metadata: string;
  readonly sdk: string;
}

/** The columns of a `ListedRow`. */
export function columns(sql: SQL) {
  return sql`number, id, platform, kind, origin, user_id, registered_at, seen_at, accepted_at, metadata, sdk,
    paused_until, failures, failing_since, ${ownPreferences(sql)}`;
}

/** Devices read without yielding to the event loop, and removed in one commit at most. */
const PIECE_DEVICES = 500;

/** Devices that one call reads; the caller continues from `next`. */
const CALL_DEVICES = 20_000;

/** Milliseconds between two commits that remove devices. */
const PAUSE_MS = 5;

/** The selected devices of an instance after a place; 0: from the first. */
interface DeviceRange {
  readonly instance: number;
  readonly filter: DeviceFilter;
  readonly after: number;
}

/** A part of a range, in the order of registration; without `upTo`, to the end. */
interface Piece extends DeviceRange {
  readonly upTo: number | undefined;
  /** Numbers of the devices that an index gives, if the filter has one. Some may have been removed since. */
  readonly numbers: readonly number[] | undefined;
  readonly isLastOfCall: boolean;
}

/** Lists and removes devices for operators, in pieces, so that other work is not delayed. */
export class DeviceList {
  private readonly database: Database;
  private readonly audience: StoredAudience;

  constructor(database: Database) {
    this.database = database;
    this.audience = new StoredAudience(database);
  }

  /**
   * Returns up to `limit` devices after a place, the oldest first. There may be more even if it returns fewer: `next` is
   * the place to continue from, `undefined` at the end.
   */
  async list(wanted: DeviceRange & { readonly limit: number }): Promise<{
    readonly devices: readonly ListedDevice[];
    readonly next: number | undefined;
  }> {
    const devices: ListedDevice[] = [];
    for await (const piece of this.pieces(wanted)) {
      const { read } = this.database;
      const limit = wanted.limit - devices.length;
      const rows: ListedRow[] = await read`
        SELECT ${columns(read)} FROM devices WHERE ${matching(read, piece)}
        ORDER BY number LIMIT ${limit}`;
      devices.push(...rows.map(listedDevice));
      const last = rows.at(-1);
      if (rows.length === limit && last !== undefined) {
        return { devices, next: Number(last.number) };
      }
      if (piece.isLastOfCall) return { devices, next: piece.upTo };
    }
    return { devices, next: undefined };
  }

  /** Removes devices after a place, or only counts them; `next` is the place to continue from, `undefined` at the end. */
  async remove(wanted: DeviceRange & { readonly isDryRun: boolean }): Promise<{
    readonly devices: number;
    readonly next: number | undefined;
  }> {
    let devices = 0;
    for await (const piece of this.pieces(wanted)) {
      devices += await (wanted.isDryRun ? this.count(piece) : this.removePiece(piece));
      if (piece.isLastOfCall) return { devices, next: piece.upTo };
      if (!wanted.isDryRun) await pause(monotonicTimers, PAUSE_MS);
    }
    return { devices, next: undefined };
  }

  private async count(piece: Piece): Promise<number> {
    const { read } = this.database;
    const [row]: { devices: BigInteger }[] = await read`
      SELECT COUNT(*) AS devices FROM devices WHERE ${matching(read, piece)}`;
    return Number(row?.devices ?? 0);
  }

  private removePiece(piece: Piece): Promise<number> {
    const { instance } = piece;
    return this.database.write(async (sql, later) => {
      const deleted: DeletedRow[] = await sql`
        DELETE FROM devices WHERE ${matching(sql, piece)}
        RETURNING number, accepted_at`;
      await afterRemoval({ sql, later, instance }, deleted);
      return deleted.length;
    });
  }

  /** Iterates over the devices of an instance in small chunks, up to the limit of one call. */
  private async *pieces(range: DeviceRange): AsyncGenerator<Piece> {
    for (let from = range.after, read = PIECE_DEVICES; ; read += PIECE_DEVICES) {
      const numbers = await this.indexed(range, from);
      const upTo =
        numbers === undefined ? await this.pieceEnd(range, from) : numbers[PIECE_DEVICES - 1];
      yield { ...range, after: from, upTo, numbers, isLastOfCall: read >= CALL_DEVICES };
      if (upTo === undefined) return;
      from = upTo;
      // SQLite answers within one turn of the event loop.
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** The last device of a piece; `undefined`: there are no more devices than fit into one. */
  private async pieceEnd({ instance }: DeviceRange, from: number): Promise<number | undefined> {
    const [last]: { number: BigInteger }[] = await this.database.read`
      SELECT number FROM devices WHERE instance = ${instance} AND number > ${from}
      ORDER BY instance, number LIMIT 1 OFFSET ${PIECE_DEVICES - 1}`;
    return last && Number(last.number);
  }

  /** Reads the devices of a chunk with the index that suits the filter best; `undefined`: there is none. */
  private async indexed(
    { instance, filter: { userId, interest, idPrefix, kind, origin, pausedAtMs } }: DeviceRange,
    after: number,
  ): Promise<readonly number[] | undefined> {
    const limit = PIECE_DEVICES;
    if (idPrefix !== undefined) {
      // The pluses keep the database from using other indexes. No id has a "~", which sorts behind all their characters.
      const rows: { number: BigInteger }[] = await this.database.read`
        SELECT number FROM devices
        WHERE id >= ${idPrefix} AND id < ${`${idPrefix}~`} AND +instance = ${instance}
          AND +number > ${after}
        ORDER BY +number LIMIT ${limit}`;
      return rows.map(({ number }) => Number(number));
    }
    if (userId !== undefined) {
      return await this.audience.numbers({ instance, kind: 'users', name: userId, after, limit });
    }
    if (interest !== undefined) {
      const kind = 'interests';
      return await this.audience.numbers({ instance, kind, name: interest, after, limit });
    }
    const { read } = this.database;
    const range = read`instance = ${instance} AND number > ${after}`;
    let rows: { number: BigInteger }[];
    if (kind !== undefined) {
      rows = await read`SELECT number FROM devices WHERE kind = ${kind} AND ${range}
        ORDER BY instance, kind, number LIMIT ${limit}`;
    } else if (origin !== undefined) {
      rows = await read`SELECT number FROM devices WHERE origin = ${origin} AND ${range}
        ORDER BY instance, origin, number LIMIT ${limit}`;
    } else if (pausedAtMs !== undefined) {
      rows = await read`SELECT number FROM devices WHERE paused_until IS NOT NULL AND ${range}
        ORDER BY instance, number LIMIT ${limit}`;
    } else return undefined;
    return rows.map(({ number }) => Number(number));
  }
}

function matching(sql: SQL, piece: Piece) {
  const { platform, neverAccepted, registeredBeforeMs, seenBeforeMs } = piece.filter;
  const { userId, interest, kind, origin, pausedAtMs } = piece.filter;
  return sql`${within(sql, piece)}
    ${platform === undefined ? sql`` : sql`AND platform = ${platform}`}
    ${kind === undefined ? sql`` : sql`AND kind = ${kind}`}
    ${origin === undefined ? sql`` : sql`AND origin = ${origin}`}
    ${neverAccepted ? sql`AND accepted_at IS NULL` : sql``}
    ${registeredBeforeMs === undefined ? sql`` : sql`AND registered_at < ${registeredBeforeMs}`}
    ${seenBeforeMs === undefined ? sql`` : sql`AND seen_at < ${seenBeforeMs}`}
    ${pausedAtMs === undefined ? sql`` : sql`AND paused_until > ${pausedAtMs}`}
    ${userId === undefined ? sql`` : sql`AND user_id = ${userId}`}
    ${interest === undefined ? sql`` : sql`AND ${hasInterest(sql, piece.instance, interest)}`}`;
}

function within(sql: SQL, { instance, after, upTo, numbers }: Piece) {
  if (numbers !== undefined) return isAmong(sql, 'number', numbers);
  return sql`instance = ${instance} AND number > ${after}
    ${upTo === undefined ? sql`` : sql`AND number <= ${upTo}`}`;
}

function hasInterest(sql: SQL, instance: number, interest: string) {
  return sql`EXISTS (
    SELECT 1 FROM device_interests
    WHERE instance = ${instance} AND interest = ${interest} AND device = devices.number)`;
}

export function listedDevice(row: ListedRow): ListedDevice {
  const acceptedAtMs = Number(row.accepted_at ?? 0);
  return {
    number: Number(row.number),
    id: row.id,
    platform: row.platform,
    kind: row.kind ?? undefined,
    origin: row.origin ?? undefined,
    userId: row.user_id ?? undefined,
    registeredAtMs: Number(row.registered_at),
    seenAtMs: Number(row.seen_at),
    isAccepted: row.accepted_at !== null,
    acceptedAtMs: acceptedAtMs === 0 ? undefined : acceptedAtMs,
    metadata: JSON.parse(row.metadata),
    client: row.sdk,
    pause: pauseOf(row),
    preferences: preferencesOf(row) ?? {},
  };
}

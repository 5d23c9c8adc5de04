import type { SQL } from 'bun';
import type { AudienceSource, NumberRange } from '../../../push/audience-source.ts';
import type { DeviceId, Platform, Recipient } from '../../../push/model/device.ts';
import type { DevicePause } from '../../../push/model/device-pause.ts';
import type { DeviceKind } from '../../../push/model/token-kind.ts';
import type { Database } from '../../database/database.ts';
import { type BigInteger, isAmong } from '../../database/rows.ts';
import { type PauseColumns, pauseOf } from './device-pauses.ts';
import {
  joinUserPreferences,
  type PreferenceColumns,
  preferenceColumns,
  preferencesOf,
} from './preferences.ts';

/** Rows read in one turn of the event loop, which takes about 1 ms. */
const TURN_ROWS = 500;

/** The cost of a statement without rows, in rows. */
const STATEMENT_ROWS = 25;

interface RecipientRow extends Pick<PauseColumns, 'paused_until'>, PreferenceColumns {
  readonly number: BigInteger;
  readonly id: DeviceId;
  readonly platform: Platform;
  readonly token: string;
  readonly bundle_id: string | null;
  readonly kind: DeviceKind | null;
  readonly user_id: string | null;
  readonly seen_at: BigInteger;
  readonly accepted_at: BigInteger | null;
}

/** Reads the audience of publishes from the store's tables. */
export class StoredAudience implements AudienceSource {
  private readonly database: Database;
  /** Settles after all earlier reads. */
  private line: Promise<unknown> = Promise.resolve();
  /** Rows read in this turn of the loop. */
  private readInTurn = 0;

  constructor(database: Database) {
    this.database = database;
  }

  /** Reads a range of an index only, so it may return devices that were just removed. */
  async numbers({ instance, kind, name, after, limit }: NumberRange): Promise<readonly number[]> {
    const rows = await this.inLine<{ number: BigInteger }>((read) =>
      kind === 'interests'
        ? read`
            SELECT device AS number FROM device_interests
            WHERE instance = ${instance} AND interest = ${name} AND device > ${after}
            ORDER BY device LIMIT ${limit}`
        : read`
            SELECT number FROM devices
            WHERE instance = ${instance} AND user_id = ${name} AND number > ${after}
            ORDER BY number LIMIT ${limit}`,
    );
    return rows.map(({ number }) => Number(number));
  }

  async recipients(instance: number, numbers: readonly number[]): Promise<readonly Recipient[]> {
    if (numbers.length === 0) return [];
    // The plus keeps the database from using the index by instance, with all its devices.
    const rows = await this.inLine<RecipientRow>(
      (read) => read`
        SELECT number, id, platform, token, bundle_id, kind, devices.user_id AS user_id, seen_at,
          accepted_at, paused_until, ${preferenceColumns(read)}
        FROM devices ${joinUserPreferences(read)}
        WHERE ${isAmong(read, 'number', numbers)} AND +devices.instance = ${instance}
        ORDER BY number`,
    );
    const isPaused = ({ paused_until }: RecipientRow) => paused_until !== null;
    if (!rows.some(isPaused)) return rows.map((row) => recipientOf(row, undefined));
    const pauses = await this.pausesOf(rows.filter(isPaused).map(({ number }) => Number(number)));
    return rows.map((row) => recipientOf(row, pauses.get(Number(row.number))));
  }

  /** Reads the pauses of the few devices that have one, so that the others pay for one column only. */
  private async pausesOf(
    numbers: readonly number[],
  ): Promise<ReadonlyMap<number, DevicePause | undefined>> {
    const rows = await this.inLine<PauseColumns & { readonly number: BigInteger }>(
      (read) => read`
        SELECT number, paused_until, failures, failing_since FROM devices
        WHERE ${isAmong(read, 'number', numbers)}`,
    );
    return new Map(rows.map((row) => [Number(row.number), pauseOf(row)]));
  }

  /**
   * Yields to the event loop now and then, because SQLite answers within one turn: other requests would have to wait
   * until the whole audience is read. Several small audiences share a turn.
   */
  private inLine<Row>(ask: (read: SQL) => Promise<Row[]>): Promise<readonly Row[]> {
    if (this.database.dialect === 'postgres') return ask(this.database.read);
    const rows = this.line.then(async () => {
      if (this.readInTurn >= TURN_ROWS) {
        await new Promise((resolve) => setImmediate(resolve));
        this.readInTurn = 0;
      }
      const some = await ask(this.database.read);
      this.readInTurn += STATEMENT_ROWS + some.length;
      return some;
    });
    // The caller sees a failure; later reads run all the same.
    this.line = rows.then(undefined, () => undefined);
    return rows;
  }
}

function recipientOf(row: RecipientRow, pause: DevicePause | undefined): Recipient {
  return {
    number: Number(row.number),
    id: row.id,
    platform: row.platform,
    token: row.token,
    bundleId: row.bundle_id ?? undefined,
    kind: row.kind ?? undefined,
    userId: row.user_id ?? undefined,
    seenAtMs: Number(row.seen_at),
    isTrusted: row.accepted_at !== null,
    pause,
    preferences: preferencesOf(row),
  };
}

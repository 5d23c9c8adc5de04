import type { SQL } from 'bun';
import type { AudienceSource } from '../../../push/audience-source.ts';
import type { DeviceId, Platform, Recipient } from '../../../push/model/device.ts';
import type { PublishTarget } from '../../../push/model/publish.ts';
import type { Database } from '../../database/database.ts';
import { isAmong } from '../../database/number-list.ts';
import type { BigInteger } from './device-rows.ts';

/** Rows that are read in one turn of the loop, about a millisecond's worth, and how many a statement by itself is like. */
const TURN_ROWS = 500;
const READ_ROWS = 25;

interface RecipientRow {
  readonly number: BigInteger;
  readonly id: DeviceId;
  readonly platform: Platform;
  readonly token: string;
  readonly bundle_id: string | null;
  readonly user_id: string | null;
  readonly registered_at: BigInteger;
  readonly accepted_at: BigInteger | null;
}

/** Reads the devices of a publish out of the store's tables. */
export class StoredAudience implements AudienceSource {
  private readonly database: Database;
  /** Settles when those before have been read. */
  private line: Promise<unknown> = Promise.resolve();
  /** What was read in this turn of the loop. */
  private readInTurn = 0;

  constructor(database: Database) {
    this.database = database;
  }

  /** Reads one stretch of an index and no table; devices that were removed a moment ago may be among them. */
  async numbers(
    instance: number,
    kind: PublishTarget['kind'],
    name: string,
    after: number,
    most: number,
  ): Promise<readonly number[]> {
    const rows = await this.inLine<{ number: BigInteger }>((read) =>
      kind === 'interests'
        ? read`
            SELECT device AS number FROM device_interests
            WHERE instance = ${instance} AND interest = ${name} AND device > ${after}
            ORDER BY device LIMIT ${most}`
        : read`
            SELECT number FROM devices
            WHERE instance = ${instance} AND user_id = ${name} AND number > ${after}
            ORDER BY number LIMIT ${most}`,
    );
    return rows.map(({ number }) => Number(number));
  }

  async recipients(instance: number, numbers: readonly number[]): Promise<readonly Recipient[]> {
    if (numbers.length === 0) return [];
    const { dialect } = this.database;
    // The plus keeps the database from going through all devices of the instance by another index.
    const rows = await this.inLine<RecipientRow>(
      (read) => read`
        SELECT number, id, platform, token, bundle_id, user_id, registered_at,
          accepted_at
        FROM devices WHERE ${isAmong(dialect, read, 'number', numbers)} AND +instance = ${instance}
        ORDER BY number`,
    );
    return rows.map(recipientOf);
  }

  /**
   * SQLite answers before the loop has turned: without this, nobody else's request would be looked at until
   * the whole audience is read. Small audiences share a turn, so that they come on together.
   */
  private inLine<Row>(ask: (read: SQL) => Promise<Row[]>): Promise<readonly Row[]> {
    if (this.database.dialect === 'postgres') return ask(this.database.read);
    const rows = this.line.then(async () => {
      if (this.readInTurn >= TURN_ROWS) {
        await new Promise((resolve) => setImmediate(resolve));
        this.readInTurn = 0;
      }
      const some = await ask(this.database.read);
      this.readInTurn += READ_ROWS + some.length;
      return some;
    });
    // Whoever asks hears of what fails, and those after it are read all the same.
    this.line = rows.then(undefined, () => undefined);
    return rows;
  }
}

function recipientOf(row: RecipientRow): Recipient {
  return {
    number: Number(row.number),
    id: row.id,
    platform: row.platform,
    token: row.token,
    bundleId: row.bundle_id ?? undefined,
    userId: row.user_id ?? undefined,
    registeredAtMs: Number(row.registered_at),
    acceptedBefore: row.accepted_at !== null,
  };
}

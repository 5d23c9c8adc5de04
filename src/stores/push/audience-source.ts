import type { DeviceId, Platform, Recipient } from '../../push/device.ts';
import type { AudienceSource } from '../../push/ports.ts';
import type { PublishTarget } from '../../push/publish.ts';
import type { Database } from '../database.ts';
import type { BigInteger } from './device-rows.ts';
import { isAmong } from './number-list.ts';

interface RecipientRow {
  readonly number: BigInteger;
  readonly id: DeviceId;
  readonly platform: Platform;
  readonly token: string;
  readonly bundle_id: string | null;
  readonly user_id: string | null;
  readonly registered_at: BigInteger;
}

/** Reads the devices of a publish out of the store's tables. */
export class StoredAudience implements AudienceSource {
  private readonly database: Database;
  private turn: Promise<void> = Promise.resolve();

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
    await this.ownTurn();
    const { read } = this.database;
    const rows: { number: BigInteger }[] =
      kind === 'interests'
        ? await read`
            SELECT device AS number FROM device_interests
            WHERE instance = ${instance} AND interest = ${name} AND device > ${after}
            ORDER BY device LIMIT ${most}`
        : await read`
            SELECT number FROM devices
            WHERE instance = ${instance} AND user_id = ${name} AND number > ${after}
            ORDER BY number LIMIT ${most}`;
    return rows.map(({ number }) => Number(number));
  }

  async recipients(instance: number, numbers: readonly number[]): Promise<readonly Recipient[]> {
    if (numbers.length === 0) return [];
    await this.ownTurn();
    const { dialect, read } = this.database;
    // The plus keeps the database from going through all devices of the instance by another index.
    const rows: RecipientRow[] = await read`
      SELECT number, id, platform, token, bundle_id, user_id, registered_at
      FROM devices WHERE ${isAmong(dialect, read, 'number', numbers)} AND +instance = ${instance}
      ORDER BY number`;
    return rows.map(recipientOf);
  }

  /**
   * SQLite answers before the loop has turned: without this, nobody else's request would be looked at until
   * the whole audience is read.
   */
  private ownTurn(): Promise<void> {
    if (this.database.dialect === 'postgres') return Promise.resolve();
    this.turn = this.turn.then(() => new Promise((resolve) => setImmediate(resolve)));
    return this.turn;
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
  };
}

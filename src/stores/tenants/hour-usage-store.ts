import type { Database } from '../database/database.ts';
import type { BigInteger } from '../database/rows.ts';

/** The limit of rows per statement, so that it blocks others only briefly. */
const PIECE_ROWS = 200;

/** What one app did in an hour, as far as it has been counted. */
export interface HourSum {
  readonly appId: string;
  /** Hours since 1970. */
  readonly hour: number;
  /** All messages. */
  readonly messages: number;
  /** The part of `messages` that clients caused. */
  readonly clientMessages: number;
  /** How often the app was sampled with connections, with their sum, maximum and minimum. */
  readonly samples: number;
  readonly connections: number;
  readonly most: number;
  readonly fewest: number;
}

/** How often the connections of all apps were counted in an hour. Without one, no server was running. */
export interface HourSamples {
  readonly hour: number;
  readonly samples: number;
}

/** What an app did in each hour, and how often connections were counted in each hour. */
export interface StoredHours {
  readonly sums: readonly HourSum[];
  readonly samples: readonly HourSamples[];
}

interface SumRow {
  readonly app_id: string;
  readonly hour: BigInteger;
  readonly messages: BigInteger;
  readonly client_messages: BigInteger;
  readonly samples: BigInteger;
  readonly connections: BigInteger;
  readonly most: BigInteger;
  readonly fewest: BigInteger;
}

/** What each app did in each of the last hours. Several servers add to the same hours. */
export class HourUsageStore {
  private readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }

  /** Adds to the sums of apps, in pieces. `written` is called with each piece that is stored. */
  async add(sums: readonly HourSum[], written: (piece: readonly HourSum[]) => void): Promise<void> {
    // Servers that write at the same time lock rows in the same order.
    const sorted = sums.toSorted((a, b) => (a.appId < b.appId ? -1 : 1) || a.hour - b.hour);
    for (let n = 0; n < sorted.length; n += PIECE_ROWS) {
      const piece = sorted.slice(n, n + PIECE_ROWS);
      const rows = piece.map((sum) => ({
        app_id: sum.appId,
        hour: sum.hour,
        messages: sum.messages,
        client_messages: sum.clientMessages,
        samples: sum.samples,
        connections: sum.connections,
        most: sum.most,
        fewest: sum.fewest,
      }));
      await this.database.write(
        (sql) => sql`INSERT INTO usage_hours ${sql(rows)}
          ON CONFLICT (app_id, hour) DO UPDATE SET
            messages = usage_hours.messages + excluded.messages,
            client_messages = usage_hours.client_messages + excluded.client_messages,
            samples = usage_hours.samples + excluded.samples,
            connections = usage_hours.connections + excluded.connections,
            most = CASE WHEN excluded.most > usage_hours.most
              THEN excluded.most ELSE usage_hours.most END,
            fewest = CASE WHEN usage_hours.samples = 0
              OR (excluded.samples > 0 AND excluded.fewest < usage_hours.fewest)
              THEN excluded.fewest ELSE usage_hours.fewest END`,
      );
      written(piece);
    }
  }

  /** Adds to how often connections were counted. */
  async addSamples(counts: readonly HourSamples[]): Promise<void> {
    if (counts.length === 0) return;
    await this.database.write(
      (sql) => sql`INSERT INTO usage_samples ${sql(counts)}
        ON CONFLICT (hour) DO UPDATE SET samples = usage_samples.samples + excluded.samples`,
    );
  }

  /** What an app did since an hour. */
  async ofApp(appId: string, sinceHour: number): Promise<StoredHours> {
    const { read } = this.database;
    const sums: SumRow[] = await read`
      SELECT app_id, hour, messages, client_messages, samples, connections, most, fewest
      FROM usage_hours WHERE app_id = ${appId} AND hour >= ${sinceHour}`;
    const samples: { hour: BigInteger; samples: BigInteger }[] = await read`
      SELECT hour, samples FROM usage_samples WHERE hour >= ${sinceHour}`;
    return {
      sums: sums.map((row) => ({
        appId: row.app_id,
        hour: Number(row.hour),
        messages: Number(row.messages),
        clientMessages: Number(row.client_messages),
        samples: Number(row.samples),
        connections: Number(row.connections),
        most: Number(row.most),
        fewest: Number(row.fewest),
      })),
      samples: samples.map((row) => ({ hour: Number(row.hour), samples: Number(row.samples) })),
    };
  }

  /** Deletes some of the hours before a given one. `false`: none were left. */
  async forgetSomeBefore(hour: number): Promise<boolean> {
    return await this.database.write(async (sql) => {
      await sql`DELETE FROM usage_samples WHERE hour < ${hour}`;
      const forgotten: unknown[] = await sql`DELETE FROM usage_hours WHERE (app_id, hour) IN (
        SELECT app_id, hour FROM usage_hours WHERE hour < ${hour} ORDER BY hour LIMIT ${PIECE_ROWS})
        RETURNING 1`;
      return forgotten.length === PIECE_ROWS;
    });
  }
}

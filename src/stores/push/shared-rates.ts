import type { RateStore, TakenTokens } from '../../push/rate-exchange.ts';
import type { Database } from '../database/database.ts';
import { type BigInteger, inPieces, isAmong } from '../database/rows.ts';

/** How long a sum is kept after its last change, and how often older ones are deleted. */
const KEPT_MS = 600_000;

interface TakenRow {
  readonly instance: BigInteger;
  readonly kind: string;
  readonly server: string;
  readonly tokens: BigInteger;
}

/** What the servers have taken from shared rates. Each server has its own row, so no server waits for another. */
export class StoredRates implements RateStore {
  private readonly database: Database;
  private readonly server = crypto.randomUUID();
  private tidiedAtMs = 0;

  constructor(database: Database) {
    this.database = database;
  }

  async add(taken: readonly TakenTokens[], nowMs: number): Promise<void> {
    const { server } = this;
    const isUntidy = nowMs - this.tidiedAtMs > KEPT_MS;
    if (isUntidy) this.tidiedAtMs = nowMs;
    await this.database.write(async (sql) => {
      for (const some of inPieces(taken)) {
        const rows = some.map((one) => ({ ...one, server, changed_at: nowMs }));
        await sql`INSERT INTO rate_uses ${sql(rows)}
          ON CONFLICT (instance, kind, server) DO UPDATE
          SET tokens = rate_uses.tokens + excluded.tokens, changed_at = excluded.changed_at`;
      }
      if (isUntidy) await sql`DELETE FROM rate_uses WHERE changed_at <= ${nowMs - KEPT_MS}`;
    });
  }

  async takenElsewhere(instances: readonly number[]) {
    const { read } = this.database;
    const rows: TakenRow[] = await read`
      SELECT instance, kind, server, tokens FROM rate_uses
      WHERE ${isAmong(read, 'instance', instances)} AND server <> ${this.server}`;
    return rows.map(({ instance, kind, server, tokens }) => ({
      instance: Number(instance),
      kind,
      server,
      tokens: Number(tokens),
    }));
  }
}

import type { DayUsage } from '../../channels/usage/usage.ts';
import type { Database } from '../database/database.ts';
import type { BigInteger } from '../database/rows.ts';

interface UsageRow {
  readonly app_id: string;
  readonly day: string;
  readonly messages: BigInteger;
  readonly client_messages: BigInteger;
}

/** The messages of each app on each day. Days are `YYYY-MM-DD`, UTC. */
export class UsageStore {
  private readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }

  /** Adds to the stored counts. */
  async add(usage: readonly DayUsage[]): Promise<void> {
    if (usage.length === 0) return;
    await this.database.write(async (sql) => {
      for (const { appId, day, messages, clientMessages } of usage) {
        await sql`INSERT INTO usage_days (app_id, day, messages, client_messages)
          VALUES (${appId}, ${day}, ${messages}, ${clientMessages})
          ON CONFLICT (app_id, day) DO UPDATE SET
            messages = usage_days.messages + ${messages},
            client_messages = usage_days.client_messages + ${clientMessages}`;
      }
    });
  }

  async ofDay(day: string): Promise<readonly DayUsage[]> {
    const rows: UsageRow[] = await this.database.read`
      SELECT app_id, day, messages, client_messages FROM usage_days WHERE day = ${day}`;
    return rows.map(usageOf);
  }

  /** The newest day first. */
  async ofApp(appId: string, days: number): Promise<readonly DayUsage[]> {
    const rows: UsageRow[] = await this.database.read`
      SELECT app_id, day, messages, client_messages FROM usage_days WHERE app_id = ${appId}
      ORDER BY day DESC LIMIT ${days}`;
    return rows.map(usageOf);
  }
}

function usageOf({ app_id, day, messages, client_messages }: UsageRow): DayUsage {
  return {
    appId: app_id,
    day,
    messages: Number(messages),
    clientMessages: Number(client_messages),
  };
}

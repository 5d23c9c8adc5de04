import type { TransactionSQL } from 'bun';
import type { Job } from '../../../push/model/delivery.ts';
import type { Database } from '../../database/database.ts';
import type { Dialect } from '../../database/dialect.ts';
import { skipLocked } from '../../database/dialect.ts';
import { isAmong } from '../../database/number-list.ts';
import { publishChanges } from '../publishes/publish-changes.ts';
import { waitingTables } from './due-work.ts';

/** What a server has claimed of one publish. */
interface Leases {
  readonly publish: number;
  readonly isPlanned: boolean;
  readonly jobs: readonly Job[];
}

/** Lets the claims that a server still has end later. */
export async function extendLeases(
  database: Database,
  server: string,
  plannings: readonly number[],
  jobs: readonly Job[],
  untilMs: number,
): Promise<void> {
  const { dialect } = database;
  const jobsOf = Map.groupBy(jobs, ({ job }) => job.publish.number);
  const planned = new Set(plannings);
  await database.write(async (_, later) => {
    for (const publish of planned.union(jobsOf)) {
      const leases = {
        publish,
        isPlanned: planned.has(publish),
        jobs: jobsOf.get(publish) ?? [],
      };
      // Whoever finishes a job leaves alone what others hold: it must not be held by this at that moment.
      later(publishChanges, {
        dialect,
        publish,
        run: (sql) => extendOf(dialect, sql, server, leases, untilMs),
      });
    }
  });
}

async function extendOf(
  dialect: Dialect,
  sql: TransactionSQL,
  server: string,
  { publish, isPlanned, jobs }: Leases,
  untilMs: number,
): Promise<void> {
  if (isPlanned) {
    await sql`UPDATE publish_plans SET ready_at = ${untilMs} WHERE publish IN (
      SELECT publish FROM publish_plans
      WHERE publish = ${publish} AND ready_at IS NOT NULL AND leased_by = ${server}
      ${skipLocked(dialect, sql)})`;
  }
  const pages = jobs.flatMap((job) => (job.what === 'page' ? job.page : []));
  if (pages.length > 0) {
    await sql`UPDATE publish_pages SET ready_at = ${untilMs} WHERE number IN (
      SELECT number FROM publish_pages
      WHERE ${isAmong(dialect, sql, 'number', pages)}
        AND ready_at IS NOT NULL AND leased_by = ${server} ${skipLocked(dialect, sql)})`;
  }
  const devices = jobs.flatMap((job) => (job.what === 'retries' ? job.job.devices : []));
  if (devices.length > 0) {
    await sql`UPDATE publish_devices SET ready_at = ${untilMs}
      WHERE publish = ${publish} AND device IN (
        SELECT device FROM publish_devices
        WHERE publish = ${publish} AND ${isAmong(dialect, sql, 'device', devices)}
          AND ready_at IS NOT NULL AND leased_by = ${server} ${skipLocked(dialect, sql)})`;
  }
}

/**
 * Ends claims now: of one server, or of all. Who had them stays there: until somebody takes them over, they count
 * as under way.
 */
export async function endLeases(sql: TransactionSQL, server: string | undefined): Promise<void> {
  const ofServer = () => (server === undefined ? sql`` : sql`AND leased_by = ${server}`);
  await sql`UPDATE publish_plans SET ready_at = due_at
    WHERE ready_at IS NOT NULL AND leased_by IS NOT NULL ${ofServer()}`;
  await sql`UPDATE publish_pages SET ready_at = due_at
    WHERE ready_at IS NOT NULL AND leased_by IS NOT NULL ${ofServer()}`;
  await sql`UPDATE publish_devices SET ready_at = due_at
    WHERE ready_at IS NOT NULL AND leased_by IS NOT NULL ${ofServer()}`;
}

/** Where the clock was set back: ends a server's claims, and lets be claimed what was due before. */
export async function endLateLeases(
  sql: TransactionSQL,
  server: string,
  nowMs: number,
  beforeMs: number,
): Promise<void> {
  for (const table of waitingTables) {
    await sql`UPDATE ${sql(table)} SET ready_at = ${nowMs}
      WHERE ready_at > ${nowMs}
        AND (leased_by = ${server} OR (leased_by IS NULL AND ready_at <= ${beforeMs}))`;
  }
}

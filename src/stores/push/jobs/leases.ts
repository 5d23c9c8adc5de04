import type { TransactionSQL } from 'bun';
import type { Job } from '../../../push/model/delivery.ts';
import type { OwnClaims } from '../../../push/work-claims.ts';
import type { Database } from '../../database/database.ts';
import { skipLocked } from '../../database/dialect.ts';
import { isAmong } from '../../database/rows.ts';
import { publishChanges } from '../publishes/publish-changes.ts';
import { waitingTables } from './due-work.ts';

interface Extension {
  readonly server: string;
  readonly untilMs: number;
}

/** Claims of one publish that belong to this server. */
interface PublishClaims extends Extension {
  readonly publish: number;
  readonly isPlanned: boolean;
  readonly jobs: readonly Job[];
}

/** Extends those of the claims that the server still has. */
export async function extendLeases(
  database: Database,
  { plans, jobs, server, untilMs }: OwnClaims & Extension,
): Promise<void> {
  const jobsOf = Map.groupBy(jobs, (job) => job.publish.number);
  const planned = new Set(plans);
  await database.write(async (_, later) => {
    for (const publish of planned.union(jobsOf)) {
      const claims = {
        publish,
        isPlanned: planned.has(publish),
        jobs: jobsOf.get(publish) ?? [],
        server,
        untilMs,
      };
      // Under the lock of the publish, because settling skips rows that are locked: it must not skip these.
      later(publishChanges, { publish, run: (sql) => extendOf(sql, claims) });
    }
  });
}

async function extendOf(
  sql: TransactionSQL,
  { publish, isPlanned, jobs, server, untilMs }: PublishClaims,
): Promise<void> {
  if (isPlanned) {
    await sql`UPDATE publish_plans SET ready_at = ${untilMs} WHERE publish IN (
      SELECT publish FROM publish_plans
      WHERE publish = ${publish} AND ready_at IS NOT NULL AND leased_by = ${server}
      ${skipLocked(sql)})`;
  }
  const pages = jobs.flatMap((job) => (job.what === 'page' ? job.page : []));
  if (pages.length > 0) {
    await sql`UPDATE publish_pages SET ready_at = ${untilMs} WHERE number IN (
      SELECT number FROM publish_pages
      WHERE ${isAmong(sql, 'number', pages)}
        AND ready_at IS NOT NULL AND leased_by = ${server} ${skipLocked(sql)})`;
  }
  const devices = jobs.flatMap((job) => (job.what === 'retries' ? job.devices : []));
  if (devices.length > 0) {
    await sql`UPDATE publish_devices SET ready_at = ${untilMs}
      WHERE publish = ${publish} AND device IN (
        SELECT device FROM publish_devices
        WHERE publish = ${publish} AND ${isAmong(sql, 'device', devices)}
          AND ready_at IS NOT NULL AND leased_by = ${server} ${skipLocked(sql)})`;
  }
}

/**
 * Ends claims of one server, or of all, now. `leased_by` stays: until another server claims the work, it counts as in
 * flight.
 */
export async function endLeases(sql: TransactionSQL, server: string | undefined): Promise<void> {
  for (const table of waitingTables) {
    await sql`UPDATE ${sql(table)} SET ready_at = due_at
      WHERE ready_at IS NOT NULL AND leased_by IS NOT NULL
        ${server === undefined ? sql`` : sql`AND leased_by = ${server}`}`;
  }
}

/** After the clock was set back: ends a server's claims, and makes due what was due by the old clock. */
export async function adjustLeases(
  sql: TransactionSQL,
  {
    server,
    nowMs,
    beforeMs,
  }: { readonly server: string; readonly nowMs: number; readonly beforeMs: number },
): Promise<void> {
  for (const table of waitingTables) {
    // Held pages were due before they were held.
    await sql`UPDATE ${sql(table)} SET ready_at = ${nowMs}
      WHERE ready_at > ${nowMs}
        AND (leased_by = ${server} OR (leased_by IS NULL AND ready_at <= ${beforeMs})
          ${table === 'publish_pages' ? sql`OR (leased_by IS NULL AND held = 1)` : sql``})`;
  }
}

import type { TransactionSQL } from 'bun';
import type { Job } from '../../../push/model/delivery.ts';
import type { Database } from '../../database/database.ts';
import { skipLocked } from '../../database/dialect.ts';
import { isAmong } from '../../database/rows.ts';
import { publishChanges } from '../publishes/publish-changes.ts';

interface Holding {
  readonly jobs: readonly Job[];
  readonly server: string;
  readonly readyAtMs: number;
}

/** Gives back those of the jobs that the server still has claimed, as waiting for open circuits only. */
export async function holdJobs(
  database: Database,
  { jobs, server, readyAtMs }: Holding,
): Promise<void> {
  await database.write((_, later) => {
    for (const [publish, some] of Map.groupBy(jobs, (job) => job.publish.number)) {
      later(publishChanges, {
        publish,
        async run(sql, { isOver }) {
          // What was claimed when the publish was cancelled is counted when its claim expires.
          const leasedBy = isOver ? server : null;
          await holdOf(sql, publish, { jobs: some, server, readyAtMs, leasedBy });
        },
      });
    }
  });
}

async function holdOf(
  sql: TransactionSQL,
  publish: number,
  { jobs, server, readyAtMs, leasedBy }: Holding & { readonly leasedBy: string | null },
): Promise<void> {
  const pages = jobs.flatMap((job) => (job.what === 'page' ? job.page : []));
  if (pages.length > 0) {
    await sql`UPDATE publish_pages SET ready_at = ${readyAtMs}, leased_by = ${leasedBy}, held = 1
      WHERE number IN (
        SELECT number FROM publish_pages
        WHERE ${isAmong(sql, 'number', pages)}
          AND ready_at IS NOT NULL AND leased_by = ${server} ${skipLocked(sql)})`;
  }
  const devices = jobs.flatMap((job) => (job.what === 'retries' ? job.devices : []));
  if (devices.length > 0) {
    await sql`UPDATE publish_devices SET ready_at = ${readyAtMs}, leased_by = ${leasedBy}
      WHERE publish = ${publish} AND device IN (
        SELECT device FROM publish_devices
        WHERE publish = ${publish} AND ${isAmong(sql, 'device', devices)}
          AND ready_at IS NOT NULL AND leased_by = ${server} ${skipLocked(sql)})`;
  }
}
